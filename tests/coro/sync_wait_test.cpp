// tests/coro/sync_wait_test.cpp: plain threads that wait for tasks.
#include <braid/coro/spawn.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;

namespace {

auto give(int value) -> task<int> { co_return value; }

template <typename Fn>
auto code_thrown_by(Fn&& fn) -> std::error_code {
  try {
    fn();
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

/// What a wait that is refused says; empty where it was not.
template <typename Fn>
auto refusal_of(Fn&& waits) -> std::string {
  try {
    waits();
  } catch (const std::system_error& thrown) {
    if (thrown.code() == errc::would_deadlock) return thrown.what();
  }
  return "";
}

/// Pools of one worker: with each scheduler, whose worker leaves its seat where it waits, or cannot.
template <typename Scene>
void with_each_lonely_pool(Scene&& scene) {
  const testing::watchdog dog(std::chrono::seconds(100));
  for (const scheduler chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    for (const unsigned max_spare_threads : {64U, 0U}) {
      CAPTURE(static_cast<int>(chosen));
      CAPTURE(max_spare_threads);
      pool where({.workers = 1, .scheduler = chosen, .max_spare_threads = max_spare_threads});
      scene(where);
    }
  }
}

}  // namespace

TEST_CASE("a thread gets the value, the reference, the exception of a task on another thread") {
  const auto started = runtime::create({.workers = 1}).value();
  home& where = started->io();
  int object = 1;
  auto give_reference = [&]() -> task<int&> {
    co_await sleep_for(1us);
    co_return object;
  };
  auto give_pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(2); };
  auto fails = []() -> task<void> {
    co_await sleep_for(1us);
    throw std::runtime_error("thrown at home");
  };
  CHECK(sync_wait(where, give(3)) == 3);
  CHECK(&sync_wait(where, give_reference()) == &object);
  CHECK(*sync_wait(where, give_pointer()) == 2);
  CHECK_THROWS_WITH(sync_wait(where, fails()), "thrown at home");
}

TEST_CASE("the task runs on the home's thread, and its frame is gone when sync_wait returns") {
  const auto started = runtime::create({.workers = 1}).value();
  deaths seen;
  std::thread::id ran_on;
  auto body = [&]() -> task<void> {
    const mortal local(seen);
    ran_on = std::this_thread::get_id();
    co_await sleep_for(1us);
  };
  sync_wait(started->io(), body());
  CHECK(seen.count == 1);
  CHECK(ran_on != std::this_thread::get_id());
  CHECK(seen.last_on == ran_on);
}

TEST_CASE("many threads wait at once, each for its own task") {
  const auto started = runtime::create({.workers = 1}).value();
  atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 500; ++i)
        if (sync_wait(started->io(), give(number * 1000 + i)) == number * 1000 + i) right.fetch_add(1, relaxed);
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right.load(relaxed) == 2000);
}

TEST_CASE("on the home's own thread it is refused instead of waiting for ever") {
  const auto started = runtime::create({.workers = 1}).value();
  auto body = [&]() -> task<std::error_code> { co_return code_thrown_by([&] { sync_wait(started->io(), give(1)); }); };
  CHECK(sync_wait(started->io(), body()) == errc::would_deadlock);
}

TEST_CASE("the only worker of a pool waits for a task of a home on that pool") {
  with_each_lonely_pool([](pool& where) {
    serial_executor home(where);
    auto compute = [] { return 2; };
    auto body = [&]() -> task<int> {
      co_await sleep_for(1us);
      auto there = offload(where, compute);
      co_return co_await there + 1;
    };
    CHECK(spawn(where, [&] { return sync_wait(home, body()); }).get() == 3);
  });
}

TEST_CASE("the only worker of a runtime waits for a task of its loop, which needs that worker") {
  const testing::watchdog dog(std::chrono::seconds(100));
  for (const scheduler chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    CAPTURE(static_cast<int>(chosen));
    const auto all = runtime::create({.workers = 1, .scheduler = chosen}).value();
    auto compute = [] { return 4; };
    auto body = [&]() -> task<int> {
      auto there = offload(all->workers(), compute);
      co_return co_await there;
    };
    CHECK(spawn(all->workers(), [&] { return all->run(body()); }).get() == 4);
  }
}

TEST_CASE("the only worker of a pool waits for a task without a home, which goes on as a job behind it") {
  with_each_lonely_pool([](pool& where) {
    auto body = [&]() -> task<int> {
      auto hop = schedule_on(where);
      co_await hop;
      co_return 5;
    };
    CHECK(spawn(where, [&] { return sync_wait(body()); }).get() == 5);
  });
}

TEST_CASE("a worker lets its pool work while it waits for a task that waits for that work") {
  with_each_lonely_pool([](pool& where) {
    const auto all = runtime::create({.workers = 1}).value();
    promise<int> source;
    auto later = source.get_future();
    event happened;
    auto body = [&]() -> task<void> { co_await happened; };
    auto waiter = spawn(where, [&] { sync_wait(all->io(), body()); });
    auto other = spawn(where, [&] { static_cast<void>(source.set_value(6)); });
    CHECK(later.get() == 6);
    auto sets = [&]() -> task<void> {
      happened.set();
      co_return;
    };
    sync_wait(all->io(), sets());
    waiter.get();
    other.get();
  });
}

TEST_CASE("the end of a home lets the pool work of whose workers one waits for it") {
  with_each_lonely_pool([](pool& where) {
    pool elsewhere({.workers = 1});
    auto nothing = [] {};
    auto body = [&](atomic<bool>& begun) -> task<void> {
      auto there = offload(where, nothing);
      begun.store(true, relaxed);
      co_await there;
    };
    auto ends = spawn(where, [&] {
      atomic<bool> begun{false};
      serial_executor home(elsewhere);
      // What the pool is to run comes behind this job.
      CHECK(post(home, [&] { home.root().spawn(body(begun)); }));
      CHECK(testing::eventually([&] { return begun.load(relaxed); }));
    });
    ends.get();
  });
}

TEST_CASE("on the thread of a loop a wait for another home is refused, with a sentence that says what to do instead") {
  const auto started = runtime::create({.workers = 1}).value();
  const auto other = runtime::create({.workers = 1}).value();
  serial_executor strand(started->workers());
  auto body = [&]() -> task<void> {
    CHECK(refusal_of([&] { sync_wait(started->io(), give(1)); }).find("use co_await here") != std::string::npos);
    for (home* each : {static_cast<home*>(&other->io()), static_cast<home*>(&strand)})
      CHECK(refusal_of([&] { sync_wait(*each, give(1)); }).find("co_await the task") != std::string::npos);
    CHECK(refusal_of([&] { sync_wait(give(1)); }).find("co_await the task") != std::string::npos);
    CHECK(refusal_of([&] { other->run(give(1)); }).find("on the blocking pool") != std::string::npos);
    co_return;
  };
  sync_wait(started->io(), body());
}

TEST_CASE("who turns a loop by hand may wait between the turns") {
  const auto other = runtime::create({.workers = 1}).value();
  const auto mine = loop::create().value();
  CHECK(mine->run_once());
  CHECK(sync_wait(other->io(), give(1)) == 1);
  CHECK(sync_wait(give(2)) == 2);
  mine->stop();
  while (mine->run_once()) {}
  CHECK(sync_wait(other->io(), give(3)) == 3);

  const auto third = loop::create().value();
  int before = 0;
  third->run([&] {
    before = sync_wait(other->io(), give(4));
    third->stop();
  });
  CHECK(before == 4);
  CHECK(sync_wait(give(5)) == 5);
}

TEST_CASE("a loop that does not run yet is waited for") {
  const auto io = loop::create().value();
  int ran = 0;
  std::jthread waits([&] {
    ran = sync_wait(*io, give(7));
    io->stop();
  });
  io->run();
  waits.join();
  CHECK(ran == 7);
}

TEST_CASE("a home that has stopped refuses, and the task is destroyed") {
  deaths seen;
  auto body = [](mortal /*held*/) -> task<void> { co_return; };
  const auto never_run = loop::create().value();
  never_run->stop();
  CHECK(code_thrown_by([&] { sync_wait(*never_run, body(mortal(seen))); }) == errc::closed);
  CHECK(seen.count == 1);

  const auto stopped = loop::create().value();
  stopped->stop();
  stopped->run();
  CHECK(code_thrown_by([&] { sync_wait(*stopped, body(mortal(seen))); }) == errc::closed);
  CHECK(seen.count == 2);
}

TEST_CASE("a task that is stopped makes sync_wait throw errc::stopped") {
  const auto started = runtime::create({.workers = 1}).value();
  deaths seen;
  auto body = [&]() -> task<int> {
    const mortal local(seen);
    started->io().root().request_stop();
    co_await sleep_for(1h);
    co_return 1;
  };
  CHECK(code_thrown_by([&] { sync_wait(started->io(), body()); }) == errc::stopped);
  CHECK(seen.count == 1);
  CHECK(code_thrown_by([&] { sync_wait(started->io(), give(1)); }) == errc::stopped);
}

TEST_CASE("a task that the home drops counts as stopped") {
  testing::scripted_home where;
  deaths seen;
  bool ran = false;
  auto body = [&](mortal /*held*/) -> task<int> {
    ran = true;
    co_return 1;
  };
  where.before_post = [&] { where.root().request_stop(); };
  std::error_code thrown;
  where.elsewhere([&] {
    // The home comes to the post after its stop; it is this thread, so it runs what is queued inside of the wait.
    detail::sync_waiter<int> waiter(where, body(mortal(seen)));
    REQUIRE(where.try_post(waiter));
    where.run_all();
    waiter.done.wait();
    thrown = code_thrown_by([&] { waiter.ended.take(); });
  });
  CHECK(thrown == errc::stopped);
  CHECK_FALSE(ran);
  CHECK(seen.count == 1);
}

TEST_CASE("without a home it runs tasks that wait for nothing on the calling thread") {
  std::thread::id ran_on;
  auto body = [&]() -> task<int> {
    ran_on = std::this_thread::get_id();
    const int one = co_await give(1);
    const int two = co_await give(2);
    co_return one + two;
  };
  CHECK(sync_wait(body()) == 3);
  CHECK(ran_on == std::this_thread::get_id());
  auto stops = []() -> task<void> { co_await stop_here(); };
  CHECK(code_thrown_by([&] { sync_wait(stops()); }) == errc::stopped);
}

TEST_CASE("without a home a task that wants to sleep, or to know its scope, ends the program") {
  const auto asleep = testing::run_in_child([] {
    auto body = []() -> task<void> { co_await sleep_for(1ms); };
    sync_wait(body());
  });
  CHECK(asleep.signal == SIGABRT);
  CHECK(asleep.errors.find("this task has no home") != std::string::npos);
  const auto curious = testing::run_in_child([] {
    auto body = []() -> task<void> { static_cast<void>(co_await this_scope()); };
    sync_wait(body());
  });
  CHECK(curious.signal == SIGABRT);
  CHECK(curious.errors.find("this task has no home") != std::string::npos);
}

TEST_CASE("an empty task cannot be waited for") {
  const auto end = testing::run_in_child([] { sync_wait(task<int>()); });
  CHECK(end.signal == SIGABRT);
}
