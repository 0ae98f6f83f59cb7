// tests/coro/fiber_stop_test.cpp: stops and deadlines of fibers, on a loop that the test turns.
#include <braid/coro/fiber.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

}  // namespace

TEST_CASE("a stop reaches a fiber where it waits, destroys its locals once and at home, and runs nothing else of it") {
  if (!has_fibers()) return;
  test_loop here;
  deaths ends;
  bool went_on = false;
  const auto leaf = [&] {
    const mortal inner(ends);
    fiber_await(sleep_for(1h));
    went_on = true;
  };
  auto body = [&] {
    const mortal outer(ends);
    leaf();
    went_on = true;
  };
  outcome<void> ended;
  ended.set_value();
  auto watched = [&]() -> task<void> { ended = co_await as_outcome(run_fiber(body)); };
  scope in(here.io().root());
  in.spawn(watched());
  here.run_once();
  CHECK(ends.count == 0);
  in.request_stop();
  here.run_once();
  CHECK(ends.count == 2);
  CHECK(ends.last_on == std::this_thread::get_id());
  CHECK(ended.is_stopped());
  CHECK_FALSE(went_on);
  CHECK(in.tasks() == 0);
}

TEST_CASE("a stop goes through nested fibers and tasks, each once, the innermost first") {
  if (!has_fibers()) return;
  test_loop here;
  std::string order;
  struct note {
    std::string* to;
    char what;
    ~note() { *to += what; }
  };
  auto inner = [&] {
    const note local{&order, 'a'};
    fiber_await(sleep_for(1h));
  };
  auto between = [&]() -> task<void> {
    const note local{&order, 'b'};
    co_await run_fiber(inner);
  };
  auto outer = [&] {
    const note local{&order, 'c'};
    fiber_await(between());
  };
  scope in(here.io().root());
  in.spawn(run_fiber(outer));
  here.run_once();
  in.request_stop();
  here.run_once();
  CHECK(order == "abc");
  CHECK(in.tasks() == 0);
}

TEST_CASE("in a scope that is stopped the first wait is the last thing that a fiber does") {
  if (!has_fibers()) return;
  test_loop here;
  deaths ends;
  scope in(here.io().root());
  int reached = 0;
  auto body = [&] {
    const mortal local(ends);
    ++reached;
    in.request_stop();
    ++reached;
    fiber_await(sleep_for(0ns));
    ++reached;
  };
  in.spawn(run_fiber(body));
  here.run_once();
  CHECK(reached == 2);
  CHECK(ends.count == 1);
  CHECK(in.tasks() == 0);
}

TEST_CASE("a stop that is swallowed is thrown again at the next wait; what the fiber gives in spite of it counts") {
  if (!has_fibers()) return;
  test_loop here;
  int caught = 0;
  auto body = [&] {
    for (int i = 0; i < 3; ++i) {
      try {
        fiber_await(sleep_for(1h));
      } catch (...) {
        ++caught;
      }
    }
    return 7;
  };
  outcome<int> ended;
  auto watched = [&]() -> task<void> { ended = co_await as_outcome(run_fiber(body)); };
  scope in(here.io().root());
  in.spawn(watched());
  in.request_stop();
  here.run_once();
  CHECK(caught == 3);
  REQUIRE(ended.has_value());
  CHECK(ended.take() == 7);
}

TEST_CASE("an exception that a stop turns into is the fiber's") {
  if (!has_fibers()) return;
  test_loop here;
  auto body = [] {
    try {
      fiber_await(sleep_for(1h));
    } catch (...) {
      throw std::runtime_error("instead");
    }
  };
  outcome<void> ended;
  auto watched = [&]() -> task<void> { ended = co_await as_outcome(run_fiber(body)); };
  scope in(here.io().root());
  in.spawn(watched());
  in.request_stop();
  here.run_once();
  REQUIRE(ended.has_exception());
  CHECK_THROWS_WITH(std::rethrow_exception(ended.exception()), "instead");
}

TEST_CASE("what a fiber awaits and what stops itself stops the fiber") {
  if (!has_fibers()) return;
  test_loop here;
  deaths ends;
  auto gives_up = []() -> task<void> { co_await stop_here(); };
  auto body = [&] {
    const mortal local(ends);
    fiber_await(gives_up());
  };
  CHECK(here.run(run_fiber(body)).is_stopped());
  CHECK(ends.count == 1);
  auto looks = [&] { return fiber_await(as_outcome(gives_up())).is_stopped(); };
  CHECK(here.run(run_fiber(looks)).take());
}

TEST_CASE("the deadline of the caller is the fiber's") {
  if (!has_fibers()) return;
  test_loop here;
  deaths ends;
  auto body = [&] {
    const mortal local(ends);
    CHECK(fiber_await(this_scope()).deadline() < time_point::max());
    fiber_await(sleep_for(1h));
  };
  const auto ended = here.run_through(with_timeout(2ms, run_fiber(body)), 100us).take();
  CHECK(ended.error() == errc::deadline_exceeded);
  CHECK(ends.count == 1);
  auto in_time = [] { return fiber_await(with_timeout(1ms, after(1h, 1))).has_value(); };
  CHECK_FALSE(here.run_through(run_fiber(in_time), 100us).take());
}

TEST_CASE("a stop of the loop ends its fibers") {
  if (!has_fibers()) return;
  deaths ends;
  {
    test_loop here;
    for (int i = 0; i < 20; ++i)
      here.io().spawn(run_fiber([&] {
        const mortal local(ends);
        fiber_await(sleep_for(1h));
      }));
    here.run_once();
  }
  CHECK(ends.count == 20);
}
