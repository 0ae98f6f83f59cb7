// tests/coro/offload_test.cpp: functions that run elsewhere, and whose results come home.
#include <braid/coro/offload.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

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
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

template <typename T>
auto code_of(const outcome<T>& ended) -> std::error_code {
  if (!ended.has_exception()) return {};
  try {
    std::rethrow_exception(ended.exception());
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
}

auto with_workers(unsigned count) -> pool::options {
  pool::options options;
  options.workers = count;
  return options;
}

/// Runs `fn` on `where`. The tests give every closure a name: g++ 12 destroys captures of one that is made inside of a
/// co_await twice.
template <typename Fn>
auto away(executor& where, Fn fn) -> task<std::invoke_result_t<Fn&>> {
  auto hop = offload(where, std::move(fn));
  co_return co_await hop;
}

struct doubled {
  int number;
  auto operator()() const -> int { return 2 * number; }
};

}  // namespace

TEST_CASE("a function runs on the worker and the task goes on at home with its result") {
  test_loop here;
  pool workers(with_workers(2));
  std::thread::id ran_on;
  std::thread::id went_on;
  auto body = [&]() -> task<int> {
    auto compute = [&] {
      ran_on = std::this_thread::get_id();
      return 42;
    };
    const int value = co_await away(workers, compute);
    went_on = std::this_thread::get_id();
    co_return value;
  };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 42);
  CHECK(ran_on != std::this_thread::get_id());
  CHECK(went_on == std::this_thread::get_id());
}

TEST_CASE("nothing, references and move-only results come home") {
  test_loop here;
  manual_executor there;
  int object = 0;
  auto body = [&]() -> task<void> {
    auto assign = [&] { object = 1; };
    auto refer = [&]() -> int& { return object; };
    auto make = [] { return std::make_unique<int>(3); };
    co_await away(there, assign);
    int& reference = co_await away(there, refer);
    CHECK(&reference == &object);
    const auto pointer = co_await away(there, make);
    CHECK(*pointer == 3);
  };
  here.io().spawn(body());
  for (int i = 0; i < 3; ++i) {
    REQUIRE(there.pending() == 1);
    there.run();
    here.run_once();
  }
  CHECK(object == 1);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("what the function throws is rethrown at home") {
  test_loop here;
  pool workers(with_workers(1));
  const outcome<void> ended = here.run(away(workers, [] { throw std::runtime_error("away"); }));
  REQUIRE(ended.has_exception());
  CHECK_THROWS_WITH(std::rethrow_exception(ended.exception()), "away");
}

TEST_CASE("a closed executor refuses with errc::closed, and the function is not called") {
  test_loop here;
  pool workers(with_workers(1));
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  bool called = false;
  const outcome<void> ended = here.run(away(workers, [&] { called = true; }));
  CHECK(code_of(ended) == errc::closed);
  CHECK_FALSE(called);
}

TEST_CASE("twenty thousand refusals in a row do not use up the stack") {
  test_loop here;
  manual_executor there;
  there.close();
  auto body = [&]() -> task<int> {
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
      auto hop = offload(there, [] {});
      try {
        co_await hop;
      } catch (const std::system_error&) {
        ++refused;
      }
    }
    co_return refused;
  };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 20'000);
}

TEST_CASE("a function that a shutdown drops ends with errc::dropped") {
  test_loop here;
  manual_executor there;
  bool called = false;
  outcome<void> ended;
  auto body = [&]() -> task<void> {
    auto call = [&] { called = true; };
    ended = co_await as_outcome(away(there, call));
  };
  here.io().spawn(body());
  there.drop();
  here.run_once();
  CHECK(code_of(ended) == errc::dropped);
  CHECK_FALSE(called);
}

TEST_CASE("what a pool's shutdown drops comes home as well, and what it runs") {
  test_loop here;
  auto workers = std::make_unique<pool>(with_workers(1));
  atomic<bool> started{false};
  atomic<bool> may_end{false};
  int done = 0;
  int dropped = 0;
  auto body = [&](bool blocks) -> task<void> {
    auto wait = [&, blocks] {
      if (!blocks) return;
      started.store(true, relaxed);
      while (!may_end.load(relaxed)) std::this_thread::yield();
    };
    const outcome<void> ended = co_await as_outcome(away(*workers, wait));
    if (ended.has_value()) ++done;
    if (code_of(ended) == errc::dropped) ++dropped;
  };
  here.io().spawn(body(true));
  REQUIRE(testing::eventually([&] { return started.load(relaxed); }));
  for (int i = 0; i < 10; ++i) here.io().spawn(body(false));
  std::thread closer([&] { CHECK(workers->shutdown(shutdown_mode::drop_pending)); });
  CHECK(here.run_until([&] { return dropped == 10; }));
  CHECK(done == 0);
  may_end.store(true, relaxed);
  closer.join();
  CHECK(here.run_until([&] { return done == 1; }));
}

TEST_CASE("a stop does not abandon a function that runs: it ends first, and the task stops at its next leaf") {
  test_loop here;
  manual_executor there;
  deaths seen;
  bool came_home = false;
  bool went_on = false;
  bool saw_stop = false;
  auto body = [&]() -> task<void> {
    const mortal local(seen);
    scope& inside = co_await this_scope();
    auto poll = [&] {
      here.io().root().request_stop();
      here.run_once();
      CHECK(seen.count == 0);
      return inside.stop().requested();
    };
    const bool polled = co_await away(there, poll);
    saw_stop = polled;
    came_home = true;
    co_await sleep_for(0ns);
    went_on = true;
  };
  here.io().spawn(body());
  there.run();
  CHECK(seen.count == 0);
  here.run_once();
  CHECK(came_home);
  CHECK(saw_stop);
  CHECK_FALSE(went_on);
  CHECK(seen.count == 1);
}

TEST_CASE("a stop takes back a function that has not begun: the task ends at once, and the function is never called") {
  for (const bool drops : {false, true}) {
    test_loop here;
    manual_executor there;
    deaths seen;
    bool called = false;
    auto body = [&]() -> task<void> {
      mortal capture(seen);
      auto call = [&called, held = std::move(capture)] { called = true; };
      task<void> hop = away(there, std::move(call));
      co_await std::move(hop);
    };
    here.io().spawn(body());
    REQUIRE(there.pending() == 1);
    here.io().root().request_stop();
    CHECK(seen.count == 0);
    here.run_once();
    CHECK(seen.count == 1);
    CHECK(seen.last_on == std::this_thread::get_id());
    CHECK(here.io().root().tasks() == 0);
    if (drops)
      there.drop();
    else
      there.run();
    here.run_once();
    CHECK_FALSE(called);
  }
}

TEST_CASE("a deadline ends the wait for a function that has not begun, on an executor whose only thread is busy") {
  test_loop here;
  pool workers(with_workers(1));
  atomic<bool> started{false};
  atomic<bool> may_end{false};
  REQUIRE(post(workers, [&] {
            started.store(true, relaxed);
            while (!may_end.load(relaxed)) std::this_thread::yield();
          }).has_value());
  REQUIRE(testing::eventually([&] { return started.load(relaxed); }));
  atomic<bool> called{false};
  const auto late =
      here.run_through(with_timeout(10ms, away(workers, [&] { called.store(true, relaxed); })), 1ms).take();
  CHECK(late == fail(errc::deadline_exceeded));
  may_end.store(true, relaxed);
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  CHECK_FALSE(called.load(relaxed));
}

TEST_CASE("a function that runs when its loop stops still comes home, and the loop ends after it") {
  test_loop here;
  pool workers(with_workers(1));
  atomic<bool> started{false};
  atomic<bool> may_end{false};
  bool came_home = false;
  auto body = [&]() -> task<void> {
    auto wait = [&] {
      started.store(true, relaxed);
      while (!may_end.load(relaxed)) std::this_thread::yield();
    };
    co_await away(workers, wait);
    came_home = true;
  };
  here.io().spawn(body());
  REQUIRE(testing::eventually([&] { return started.load(relaxed); }));
  here.io().stop();
  for (int i = 0; i < 10; ++i) CHECK(here.io().run_once());
  may_end.store(true, relaxed);
  CHECK(testing::eventually([&] { return !here.io().run_once(); }));
  CHECK(came_home);
}

TEST_CASE("a loop that stops does not wait for a function that has not begun") {
  test_loop here;
  manual_executor there;
  here.io().spawn(away(there, [] {}));
  here.io().stop();
  CHECK(testing::eventually([&] { return !here.io().run_once(); }));
  there.run();
}

TEST_CASE("in a stopped scope nothing is sent away") {
  test_loop here;
  manual_executor there;
  auto body = [&]() -> task<void> {
    here.io().root().request_stop();
    co_await away(there, [] {});
  };
  here.io().spawn(body());
  CHECK(there.pending() == 0);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("the function and its captures live until the expression ends, on the home's thread") {
  test_loop here;
  pool workers(with_workers(1));
  deaths seen;
  auto body = [&]() -> task<void> {
    auto held = std::make_unique<mortal>(seen);
    auto keep = [held = std::move(held)] { return held != nullptr; };
    task<bool> hop = away(workers, std::move(keep));
    const bool kept = co_await std::move(hop);
    CHECK(kept);
    CHECK(seen.count == 1);
  };
  CHECK(here.run(body()).has_value());
  CHECK(seen.count == 1);
  CHECK(seen.last_on == std::this_thread::get_id());
}

TEST_CASE("many functions are away at once, and each result reaches its own task") {
  test_loop here;
  pool workers(with_workers(2));
  int right = 0;
  auto one = [&](int number) -> task<void> {
    auto multiply = [number] { return number * number; };
    const int square = co_await away(workers, multiply);
    if (square == number * number) ++right;
  };
  auto all = [&](scope& children) -> task<void> {
    for (int i = 0; i < 1000; ++i) children.spawn(one(i));
    co_return;
  };
  CHECK(here.run(with_scope(all)).has_value());
  CHECK(right == 1000);
}

TEST_CASE("a task without a home cannot offload, and the program says so") {
  const auto end = testing::run_in_child([] {
    manual_executor there;
    sync_wait(away(there, [] {}));
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("this task has no home") != std::string::npos);
}

TEST_CASE("the job of an offload has the name of its function, and one that moves a task is called resume") {
  test_loop here;
  pool workers(with_workers(1));
  std::vector<std::string> names;
  {
    observed_executor seen(workers, {.on_start = [&names](const auto& job) { names.push_back(job.function()); }});
    auto body = [&]() -> task<int> {
      int sum = co_await away(seen, doubled{1});
      auto timed = offload(seen, {.timeout = 1h}, doubled{2});
      sum += (co_await timed).value();
      co_await schedule_on(seen);
      co_await resume_home();
      co_return sum;
    };
    CHECK(here.run(body()).take() == 6);
  }
  REQUIRE(names.size() == 3);
  CHECK(names[0].ends_with("(anonymous namespace)::doubled"));
  CHECK(names[1] == names[0]);
  CHECK(names[2] == "resume");
}
