// tests/coro/sync_wait_test.cpp: plain threads that wait for tasks.
#include <braid/coro/sync_wait.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/runtime/runtime.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/scripted_home.hpp>

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

TEST_CASE("a home that does not run refuses, and the task is destroyed") {
  deaths seen;
  auto body = [](mortal /*held*/) -> task<void> { co_return; };
  const auto never_run = loop::create().value();
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
    waiter.done.park();
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
