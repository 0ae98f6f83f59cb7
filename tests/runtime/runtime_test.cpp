// tests/runtime/runtime_test.cpp: loop and workers as one object: start, use and end.
#include <braid/runtime/runtime.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/future.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/spawn.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/registry.hpp>
#include <braid/thread/this_thread.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/privileges.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::settings_can_change;

namespace {

auto started(runtime::options options) -> std::unique_ptr<runtime> {
  return runtime::create(std::move(options)).value();
}

auto name_on(executor& where) -> task<std::string> {
  auto hop = offload(where, [] { return this_thread::name(); });
  co_return co_await hop;
}

auto own_name() -> task<std::string> { co_return this_thread::name(); }

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

}  // namespace

TEST_CASE("a task runs on the loop, computes on a worker and comes back") {
  const auto all = started({.workers = 2});
  auto body = [&]() -> task<int> {
    const std::thread::id home = std::this_thread::get_id();
    auto compute = [] { return std::pair(std::this_thread::get_id(), 41); };
    auto hop = offload(all->workers(), compute);
    const auto [away, value] = co_await hop;
    CHECK(away != home);
    CHECK(std::this_thread::get_id() == home);
    co_await sleep_for(1us);
    co_return value + 1;
  };
  CHECK(all->run(body()) == 42);
  CHECK(all->workers().size() == 2);
}

TEST_CASE("what blocks runs beside loop and workers, and the task comes home with its result") {
  const auto all = started({.workers = 1, .name = "rank"});
  std::latch opened(1);
  auto body = [&]() -> task<std::string> {
    auto block = [&] { return opened.wait(), this_thread::name(); };
    auto hop = offload(all->blocking(), block);
    co_return co_await hop;
  };
  REQUIRE(post(all->workers(), [&] { CHECK(post(all->io(), [&] { opened.count_down(); })); }));
  CHECK(all->run(body()) == "rank-b-0");
}

TEST_CASE("each way to shut a runtime down ends all its threads, and refuses from then on") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now}) {
    const auto all = started({.workers = 2, .name = "ending"});
    auto work = spawn(all->workers(), [&] { return spawn(all->blocking(), [] { return 1; }).get(); });
    work.wait();
    CHECK(spawn(all->workers(), [&] { return all->shutdown(mode).error(); }).get() == errc::would_deadlock);
    CHECK(all->shutdown(mode));
    CHECK(all->shutdown(mode));
    CHECK(thread_info::find_all("ending-0")->empty());
    CHECK(post(all->workers(), [] {}).error() == errc::closed);
    CHECK(post(all->blocking(), [] {}).error() == errc::closed);
    CHECK(post(all->io(), [] {}).error() == errc::closed);
  }
}

TEST_CASE("a shutdown with a limit ends all in time, or asks what is late to end and leaves it") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto all = started({.workers = 2, .name = "limited", .shape = shape});
    CHECK(post(*all, []() -> task<void> { co_await sleep_for(1h); }));
    CHECK(all->run([]() -> task<int> { co_return 1; }) == 1);
    CHECK(spawn(all->workers(), [&] { return all->shutdown_for(1s).error(); }).get() == errc::would_deadlock);
    CHECK(all->shutdown_for(60s));
    CHECK(thread_info::find_all("limited-0")->empty());
    CHECK(post(*all, [] {}).error() == errc::closed);

    const auto late = started({.workers = 1, .shape = shape});
    std::latch begun(2);
    const auto until_stopped = [&begun](std::stop_token stop) {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      return 1;
    };
    auto computes = spawn(late->workers(), until_stopped);
    auto blocks = spawn(late->blocking(), until_stopped);
    begun.wait();
    CHECK(late->shutdown_for(0s).error() == errc::deadline_exceeded);
    CHECK(computes.get() == 1);
    CHECK(blocks.get() == 1);
    CHECK(late->shutdown(shutdown_mode::drain));
  }
}

TEST_CASE("run passes errors on") {
  const auto all = started({.workers = 1});
  auto fails = []() -> task<int> {
    throw std::runtime_error("thrown");
    co_return 1;
  };
  CHECK_THROWS_WITH(all->run(fails()), "thrown");
  auto nested = [&]() -> task<bool> {
    try {
      all->run(own_name());
    } catch (const std::system_error& thrown) {
      co_return thrown.code() == errc::would_deadlock;
    }
    co_return false;
  };
  CHECK(all->run(nested()));
}

TEST_CASE("a wait for a future is refused on the loop's thread, with a sentence that says what to do instead") {
  const testing::watchdog dog(std::chrono::seconds(100));
  const auto all = started({.workers = 1});
  promise<int> source;
  auto later = source.get_future();
  const auto shared = later.then([](const int& value) { return value + 1; }).share();
  auto check_all = [&] {
    for (const std::string& said : {refusal_of([&] { later.get(); }), refusal_of([&] { later.wait(); }),
                                    refusal_of([&] { static_cast<void>(later.wait_for(1ns)); }),
                                    refusal_of([&] { static_cast<void>(shared.get()); })}) {
      CHECK(said.find("waits for I/O") != std::string::npos);
      CHECK(said.find("co_await the future") != std::string::npos);
      CHECK(said.find("on the blocking pool") != std::string::npos);
    }
    auto own = spawn(*loop::current(), [] {});
    CHECK(refusal_of([&] { own.get(); }).find("co_await the future") != std::string::npos);
    CHECK(ready_future<int>(3).get() == 3);
  };
  auto body = [&]() -> task<void> {
    check_all();
    co_return;
  };
  all->run(body());
  spawn(all->io(), check_all).get();

  const auto plain = loop::create().value();
  std::latch running(1);
  std::thread runs([&] { plain->run([&] { running.count_down(); }); });
  running.wait();
  sync_wait(*plain, body());
  plain->stop();
  runs.join();

  CHECK(source.set_value(1));
  auto after = [&]() -> task<int> { co_return shared.get() + later.get(); };
  CHECK(shared.get() == 2);
  CHECK(all->run(after()) == 3);
}

TEST_CASE("the value is not taken where the wait for a reader of it would hold up its loop, and is there later") {
  const testing::watchdog dog(std::chrono::seconds(100));
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto all = started({.workers = 1, .shape = shape});
    auto body = [&]() -> task<void> {
      auto ready = ready_future<int>(1);
      auto next = ready.then(*loop::current(), [](const int& value) { return value + 1; });
      const std::string refusal = refusal_of([&] { static_cast<void>(ready.get()); });
      CHECK(refusal.find("has not returned") != std::string::npos);
      REQUIRE(ready.valid());
      const int read = co_await std::move(next);
      CHECK(read == 2);
      CHECK(ready.get() == 1);
    };
    all->run(body());
  }
}

TEST_CASE("a serial executor may end on the loop's thread while its jobs run") {
  const testing::watchdog dog(std::chrono::seconds(100));
  const auto all = started({.workers = 1});
  int ran = 0;
  auto body = [&]() -> task<void> {
    atomic<bool> leaves{false};
    serial_executor one(all->workers());
    CHECK(post(one, [&] {
      while (!leaves.load(relaxed)) std::this_thread::yield();
    }));
    for (int i = 0; i < 1'000; ++i) CHECK(post(one, [&] { ++ran; }));
    leaves.store(true, relaxed);
    co_return;
  };
  all->run(body());
  CHECK(ran == 1'000);
}

TEST_CASE("a worker may wait for a task of the loop") {
  const auto all = started({.workers = 1});
  auto compute = [&] { return all->run(own_name()); };
  auto body = [&]() -> task<std::string> {
    auto hop = offload(all->workers(), compute);
    co_return co_await hop;
  };
  CHECK(all->run(body()) == "braid-loop");
}

TEST_CASE("the threads carry the runtime's name, cut so that each can be told") {
  const auto plain = started({.workers = 1, .name = "rank"});
  CHECK(plain->run(own_name()) == "rank-loop");
  CHECK(plain->run(name_on(plain->workers())) == "rank-0");
  const auto lengthy = started({.workers = 1, .name = "a-name-that-is-too-long"});
  CHECK(lengthy->run(own_name()) == "a-name-tha-loop");
  CHECK(lengthy->run(name_on(lengthy->workers())) == "a-name-that-i-0");
}

TEST_CASE("every thread of a runtime is found by its name and can be configured") {
  const auto all = started({.workers = 2, .name = "whole"});
  for (const char* name : {"whole-loop", "whole-0", "whole-1"}) {
    const auto thread = thread_info::find(name);
    REQUIRE(thread);
    if (settings_can_change()) CHECK(thread->set_nice(*thread->nice()));
    CHECK(thread->set_name("renamed"));
  }
  CHECK(thread_info::find_all("renamed")->size() == 3);
}

TEST_CASE("errors of posted jobs and spawned tasks reach the one callback") {
  std::mutex mutex;
  std::vector<std::string> errors;
  {
    const auto all = started({.workers = 1, .name = "braid", .on_error = [&](std::exception_ptr error) {
                                const std::lock_guard lock(mutex);
                                try {
                                  std::rethrow_exception(std::move(error));
                                } catch (const std::exception& thrown) {
                                  errors.emplace_back(thrown.what());
                                }
                              }});
    REQUIRE(post(all->io(), [] { throw std::runtime_error("error"); }));
    REQUIRE(post(all->workers(), [] { throw std::runtime_error("error"); }));
    auto fails = []() -> task<void> {
      throw std::runtime_error("error");
      co_return;
    };
    REQUIRE(post(all->io(), [&] { all->io().spawn(fails()); }));
    all->run(own_name());
  }
  CHECK(errors == std::vector<std::string>(3, "error"));
}

TEST_CASE("runtimes are made and destroyed again and again, several at a time") {
  for (int round = 0; round < 20; ++round) {
    const auto one = started({.workers = 1});
    const auto two = started({.workers = 2});
    CHECK(one->run(name_on(two->workers())).starts_with("braid-"));
  }
}

TEST_CASE("a runtime that is destroyed stops its tasks on their home, and what they hold is gone") {
  deaths seen;
  std::thread::id home;
  auto all = started({.workers = 1});
  auto sleeper = [&]() -> task<void> {
    const mortal local(seen);
    co_await sleep_for(1h);
  };
  auto body = [&]() -> task<void> {
    home = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i) all->io().spawn(sleeper());
    co_return;
  };
  all->run(body());
  CHECK(seen.count == 0);
  all.reset();
  CHECK(seen.count == 100);
  CHECK(seen.last_on == home);
}

TEST_CASE("a runtime that is destroyed waits for functions that have begun elsewhere, and runs what was accepted") {
  for (int round = 0; round < 20; ++round) {
    deaths seen;
    int came_home = 0;
    atomic<int> began{0};
    atomic<int> ran{0};
    auto all = started({.workers = 2});
    pool& workers = all->workers();
    auto tracked = [&]() -> task<void> {
      const mortal local(seen);
      auto hop = offload(workers, [&] { began.fetch_add(1, relaxed); });
      co_await hop;
      ++came_home;
      co_await sleep_for(1h);
    };
    auto body = [&]() -> task<void> {
      for (int i = 0; i < 50; ++i) all->io().spawn(tracked());
      co_return;
    };
    all->run(body());
    for (int i = 0; i < 10; ++i) REQUIRE(post(workers, [&] { ran.fetch_add(1, relaxed); }));
    all.reset();  // withdraws the functions that have not begun
    CHECK(seen.count == 50);
    CHECK(came_home == began.load(relaxed));
    CHECK(ran.load(relaxed) == 10);
  }
}

TEST_CASE("threads that wait for tasks while the runtime's loop stops get an answer") {
  for (int round = 0; round < 20; ++round) {
    const auto all = started({.workers = 1});
    atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        auto sleeper = []() -> task<void> { co_await sleep_for(1h); };
        try {
          all->run(sleeper());
        } catch (const std::system_error& thrown) {
          if (thrown.code() == errc::stopped || thrown.code() == errc::closed) answered.fetch_add(1, relaxed);
        }
      });
    }
    all->io().stop();
    for (std::thread& each : threads) each.join();
    CHECK(answered.load(relaxed) == 3);
  }
}

TEST_CASE("a runtime that a task, a job or a function that may block destroys ends the program with a sentence") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto ends_when = [shape](auto act) {
      const testing::child_end end = testing::run_in_child([&] {
        auto all = started({.workers = 1, .shape = shape});
        act(all);
        std::this_thread::sleep_for(30s);  // which nothing but broken code lives through
      });
      CAPTURE(end.errors);
      CHECK(end.signal == SIGABRT);
      CHECK(end.errors.find("a runtime must not be destroyed by its own tasks or jobs") != std::string::npos);
    };
    using owner = std::unique_ptr<runtime>;
    const auto by_a_task = [](owner& all) -> task<void> {
      all.reset();
      co_return;
    };
    ends_when([&](owner& all) { static_cast<void>(all->post(by_a_task(all))); });
    ends_when([](owner& all) { static_cast<void>(post(all->workers(), [&all] { all.reset(); })); });
    ends_when([](owner& all) { static_cast<void>(post(all->blocking(), [&all] { all.reset(); })); });
  }
}

TEST_CASE("jobs of a manual executor run on the thread that waits, also for a task of a runtime") {
  const testing::watchdog patience(30s);
  deaths ended;
  const auto all = started({.workers = 1});
  const auto hops_to = [&](manual_executor& there) {
    auto where = [](manual_executor& jobs) -> task<std::thread::id> {
      auto hop = offload(jobs, [] { return std::this_thread::get_id(); });
      co_return co_await hop;
    };
    CHECK(all->run(where(there)) == std::this_thread::get_id());
    CHECK(spawn(there, [] { return std::this_thread::get_id(); }).get() == std::this_thread::get_id());
  };
  std::thread other([&] {
    manual_executor theirs;
    hops_to(theirs);
  });
  other.join();
  auto last = [](manual_executor& jobs, mortal /*held*/) -> task<void> {
    auto hop = offload(jobs, [] {});
    co_await hop;
  };
  {
    manual_executor here;
    hops_to(here);
    REQUIRE(all->post(last(here, mortal(ended))));
    while (!here.poll()) std::this_thread::yield();
  }
  REQUIRE(all->shutdown(shutdown_mode::drain));
  CHECK(ended.count == 1);
}

TEST_CASE("what may be said of the workers of a pool may be said of those of a runtime, whatever its shape") {
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged}) {
    const thread_registry registry;
    std::mutex mutex;
    std::vector<std::size_t> begun;
    std::vector<std::size_t> stopped;
    const cpu_set one{*or_throw(this_thread::affinity()).first()};
    {
      const auto all = started({.workers = 2,
                                .name = "said",
                                .shape = shape,
                                .on_worker_start =
                                    [&](std::size_t index) {
                                      const std::lock_guard lock(mutex);
                                      begun.push_back(index);
                                    },
                                .on_worker_stop =
                                    [&](std::size_t index) {
                                      const std::lock_guard lock(mutex);
                                      stopped.push_back(index);
                                    },
                                .affinity = one,
                                .registration = {{.tag = "compute", .registry = registry}}});
      CHECK(begun.size() == 2);
      CHECK(stopped.empty());
      CHECK(registry.size() == 2);
      CHECK(spawn(all->workers(), [] { return or_throw(this_thread::affinity()); }).get() == one);
      auto body = [&]() -> task<void> { co_await sleep_for(1us); };
      all->run(body());
    }
    CHECK(stopped.size() == 2);
    CHECK(registry.size() == 0);
  }
}

TEST_CASE("a hook that throws at the end of a worker keeps no runtime from its end") {
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged})
    for (const shutdown_mode mode : {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now}) {
      braid::atomic<int> reported{0};
      const auto all =
          started({.workers = 2,
                   .shape = shape,
                   .on_worker_stop = [](std::size_t) { throw std::runtime_error("a hook"); },
                   .on_error = [&](const std::exception_ptr&, const error_callback::origin&) { ++reported; }});
      auto body = []() -> task<void> { co_await sleep_for(1us); };
      all->run(body());
      CHECK(all->shutdown(mode));
      CHECK(reported == 2);
    }
}
