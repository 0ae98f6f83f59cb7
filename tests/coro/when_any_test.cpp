// tests/coro/when_any_test.cpp: several tasks at once, of which the first value counts.
#include <braid/coro/when_all.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/nested_steps.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto give_after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto fail_after(duration span, const char* sentence) -> task<int> {
  co_await sleep_for(span);
  throw std::runtime_error(sentence);
}

auto wait_long(deaths& seen) -> task<std::string> {
  const mortal local(seen);
  co_await sleep_for(1h);
  co_return "late";
}

auto pass_after(duration span) -> task<void> { co_await sleep_for(span); }

}  // namespace

TEST_CASE("the first value comes with the index of its task, and the others have ended by then") {
  test_loop here;
  deaths seen;
  auto body = [&]() -> task<void> {
    const auto first = co_await when_any(wait_long(seen), give_after(1ms, 5), pass_after(1h));
    CHECK(first.index == 1);
    CHECK(first.value.index() == 1);
    CHECK(std::get<1>(first.value) == 5);
    CHECK(seen.count == 1);
  };
  CHECK(here.run_through(body(), 1ms).has_value());
}

TEST_CASE("tasks of one type come in a vector, those that give nothing too") {
  test_loop here;
  auto body = []() -> task<void> {
    std::vector<task<int>> all;
    for (int i = 0; i < 10; ++i) all.push_back(give_after(std::chrono::milliseconds(10 - i), i));
    const any_result<int> first = co_await when_any(std::move(all));
    CHECK(first.index == 9);
    CHECK(first.value == 9);
    std::vector<task<void>> nothing;
    nothing.push_back(pass_after(5ms));
    nothing.push_back(pass_after(1ms));
    const any_result<void> passed = co_await when_any(std::move(nothing));
    CHECK(passed.index == 1);
  };
  CHECK(here.run_through(body(), 1ms).has_value());
}

TEST_CASE("a failure is passed over while another may give a value") {
  test_loop here;
  auto body = []() -> task<void> {
    const auto first = co_await when_any(fail_after(1ms, "early"), give_after(2ms, 5));
    CHECK(first.index == 1);
  };
  CHECK(here.run_through(body(), 1ms).has_value());
}

TEST_CASE("when all fail the first failure is rethrown, and of no tasks there is no first") {
  test_loop here;
  outcome<any_result<std::variant<int, int>>> failed =
      here.run_through(when_any(fail_after(2ms, "second"), fail_after(1ms, "first")), 1ms);
  CHECK_THROWS_WITH(static_cast<void>(failed.take()), "first");
  CHECK(here.run(when_any(std::vector<task<int>>())).has_exception());
}

TEST_CASE("a task behind one that has a value at once does not start") {
  test_loop here;
  bool started = false;
  auto ready = []() -> task<int> { co_return 1; };
  auto starts = [&]() -> task<int> {
    started = true;
    co_return 2;
  };
  outcome<any_result<std::variant<int, int>>> ended = here.run(when_any(ready(), starts()));
  CHECK(ended.take().index == 0);
  CHECK_FALSE(started);
}

TEST_CASE("a task behind one that has a value does not start either where first steps are queued") {
  for (int steps = testing::fewest_nested; steps <= testing::max_nested; ++steps) {
    CAPTURE(steps);
    test_loop here;
    bool ended = false;
    int started = 0;
    auto gives = [&]() -> task<int> { co_return ++started; };
    auto body = [&]() -> task<void> {
      const auto first = co_await when_any(gives(), gives(), gives());
      CHECK(first.index == 0);
      ended = true;
    };
    here.io().spawn(testing::nested(here.io().root(), steps, body()));
    here.run_once();
    CHECK(ended);
    CHECK(started == 1);
  }
}

TEST_CASE("a stop of the caller stops all, and where all are stopped the caller is") {
  test_loop here;
  deaths seen;
  bool went_on = false;
  auto body = [&]() -> task<void> {
    co_await when_any(wait_long(seen), wait_long(seen));
    went_on = true;
  };
  here.io().spawn(body());
  here.run_once();
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 2);
  CHECK_FALSE(went_on);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("a value that a loser gives in spite of the stop is dropped") {
  test_loop here;
  int given = 0;
  auto stubborn = [&]() -> task<int> {
    const outcome<int> ended = co_await as_outcome(give_after(1h, 0));
    CHECK(ended.is_stopped());
    ++given;
    co_return 8;
  };
  outcome<any_result<std::variant<int, int>>> ended = here.run_through(when_any(stubborn(), give_after(1ms, 3)), 1ms);
  CHECK(std::get<1>(ended.take().value) == 3);
  CHECK(given == 1);
}
