// tests/coro/interval_test.cpp: ticks that a task awaits, on a clock that the test turns.
#include <braid/coro/sleep.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <chrono>
#include <cstdint>
#include <system_error>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

/// A tick: the time until it came, as the clock went on by milliseconds, and what it said was left out.
struct came {
  duration after;
  std::uint64_t left_out;
};

auto next_of(test_loop& here, interval& ticks) -> came {
  const auto begin = here.now();
  const auto wait = [](interval& of) -> task<std::uint64_t> { co_return co_await of.next(); };
  const std::uint64_t left_out = here.run_through(wait(ticks), 1ms).take();
  return {here.now() - begin, left_out};
}

/// A timer fires at the first turn of the clock that is not before its tick of 16 µs.
auto is_about(duration waited, duration wanted) -> bool { return waited >= wanted && waited <= wanted + 1ms; }

}  // namespace

TEST_CASE("ticks come at their interval from the first call on, whatever is done between them") {
  test_loop here;
  interval ticks = every(10ms);
  here.advance(1h);  // nothing is missed before the first call
  const auto begin = here.now();
  for (int i = 1; i <= 1'000; ++i) {
    const came found = next_of(here, ticks);
    CHECK(found.left_out == 0);
    const duration drift = here.now() - (begin + i * 10ms);
    REQUIRE(drift >= 0ms);
    REQUIRE(drift <= 1ms);
    here.advance(i % 10 * 800us);
  }
}

TEST_CASE("ticks that pass while the task is busy are left out, and the next one says how many") {
  test_loop here;
  interval ticks = every(10ms);
  CHECK(is_about(next_of(here, ticks).after, 10ms));
  const auto last = here.now();
  here.advance(34ms);  // and so the tick at 50
  const came late = next_of(here, ticks);
  CHECK(late.left_out == 3);
  CHECK(is_about(here.now() - last, 39ms));
  CHECK(next_of(here, ticks).left_out == 0);
  CHECK(is_about(here.now() - last, 49ms));
}

TEST_CASE("missed ticks are made up for one by one, or by one that later ones are counted from") {
  test_loop here;
  interval each({.interval = 10ms, .missed = missed_ticks::burst, .first = here.now()});
  interval once({.interval = 10ms, .missed = missed_ticks::delay, .first = here.now()});
  CHECK(next_of(here, each).after <= 1ms);
  CHECK(next_of(here, once).after <= 1ms);
  here.advance(34ms);
  for (int i = 0; i < 3; ++i) {
    const came made_up = next_of(here, each);
    CHECK(made_up.after <= 1ms);
    CHECK(made_up.left_out == 0);
  }
  CHECK(next_of(here, each).after > 1ms);
  here.advance(30ms);
  const auto now = here.now();
  const came all = next_of(here, once);
  CHECK(here.now() - now <= 1ms);
  CHECK(all.left_out >= 5);
  CHECK(is_about(next_of(here, once).after, 10ms - (all.after)));
}

TEST_CASE("with a fixed delay a tick comes that long after the call") {
  test_loop here;
  interval ticks({.interval = 10ms, .mode = every_mode::fixed_delay});
  for (int i = 0; i < 3; ++i) {
    const came found = next_of(here, ticks);
    CHECK(is_about(found.after, 10ms));
    CHECK(found.left_out == 0);
    here.advance(25ms);
  }
}

TEST_CASE("a first tick that has passed by less than an interval is late, and by more is missed") {
  test_loop here;
  interval late({.interval = 10ms, .first = here.now() - 4ms});
  const came first = next_of(here, late);
  CHECK(first.after <= 1ms);
  CHECK(first.left_out == 0);
  interval missed({.interval = 10ms, .first = here.now() - 25ms});
  const came next = next_of(here, missed);
  CHECK(is_about(next.after, 5ms));
  CHECK(next.left_out == 3);
  interval far({.interval = 10ms, .first = here.now() + 2s});
  CHECK(is_about(next_of(here, far).after, 2s));
}

TEST_CASE("a stop ends the wait for a tick, which is not used up") {
  test_loop here;
  deaths ended;
  interval ticks = every(10ms);
  CHECK(is_about(next_of(here, ticks).after, 10ms));
  const auto last = here.now();
  auto begun = spawn(here.io().root(), [](interval& of, mortal) -> task<void> {
    static_cast<void>(co_await of.next());
  }(ticks, mortal(ended)));
  here.run_once();
  here.advance(3ms);
  begun.request_stop();
  here.run_once();
  CHECK(ended.count == 1);
  CHECK(next_of(here, ticks).left_out == 0);
  CHECK(is_about(here.now() - last, 9ms));
}

TEST_CASE("waits that a deadline ends leave the tick where it was, also before the first one") {
  for (const every_mode mode : {every_mode::fixed_rate, every_mode::fixed_delay}) {
    test_loop here;
    interval ticks({.interval = 50ms, .mode = mode});
    const auto begin = here.now();
    auto impatient = [](interval& of) -> task<bool> {
      auto tick = of.next();
      co_return (co_await with_timeout(10ms, std::move(tick))).has_value();
    };
    int waits = 0;
    while (!here.run_through(impatient(ticks), 1ms).take()) REQUIRE(++waits < 10);
    CHECK(is_about(here.now() - begin, 50ms));
  }
}

TEST_CASE("an interval that is not positive is refused with the code that schedules have for it") {
  const auto error_of = [](duration span) {
    try {
      static_cast<void>(every(span));
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code();
  };
  CHECK(error_of(0s) == errc::bad_interval);
  CHECK(error_of(-1ms) == errc::bad_interval);
  CHECK(error_of(1ns) == std::error_code());
  CHECK_THROWS_WITH_AS(interval({.mode = every_mode::fixed_delay}),
                       "the interval between two ticks: the interval must be positive, and not too long",
                       std::system_error);
}
