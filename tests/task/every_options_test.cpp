// tests/task/every_options_test.cpp: when ticks are due, for each rule and every number that a clock can hold.
#include <braid/task/every_options.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <ratio>
#include <vector>

using braid::duration;
using braid::every_mode;
using braid::missed_ticks;
using braid::time_point;
using braid::detail::later;
using braid::detail::tick_rule;
using braid::detail::time_span;
using namespace std::chrono_literals;

namespace {

constexpr auto at(duration since_zero) -> time_point { return time_point(since_zero); }

/// When runs begin, if the first tick is at 100 ms, each run takes as long as it says, and nothing else holds them up.
auto begins(const tick_rule& rule, const std::vector<duration>& lengths) -> std::vector<duration> {
  std::vector<duration> all;
  time_point now = at(0s);
  time_point tick = rule.due(at(100ms), now);
  for (const duration length : lengths) {
    now = std::max(now, tick);
    all.push_back(now.time_since_epoch());
    now += length;
    tick = rule.after(tick, now);
  }
  return all;
}

using times = std::vector<duration>;

}  // namespace

TEST_CASE("at a fixed rate short runs begin at every tick") {
  for (const auto missed : {missed_ticks::burst, missed_ticks::skip, missed_ticks::delay}) {
    const tick_rule rule{.interval = 10ms, .mode = every_mode::fixed_rate, .missed = missed};
    CHECK(begins(rule, {1ms, 9ms, 10ms, 0ms}) == times{100ms, 110ms, 120ms, 130ms});
  }
}

TEST_CASE("with a fixed delay runs begin that long after the one before has ended") {
  for (const auto missed : {missed_ticks::burst, missed_ticks::skip, missed_ticks::delay}) {
    const tick_rule rule{.interval = 10ms, .mode = every_mode::fixed_delay, .missed = missed};
    CHECK(begins(rule, {1ms, 25ms, 0ms, 0ms}) == times{100ms, 111ms, 146ms, 156ms});
  }
}

TEST_CASE("a burst makes up for each tick that was missed, and is then back at the ticks") {
  const tick_rule rule{.interval = 10ms, .missed = missed_ticks::burst};
  CHECK(begins(rule, {35ms, 1ms, 1ms, 1ms, 1ms}) == times{100ms, 135ms, 136ms, 137ms, 140ms});
}

TEST_CASE("skipping goes on at the next tick to come") {
  const tick_rule rule{.interval = 10ms, .missed = missed_ticks::skip};
  CHECK(begins(rule, {35ms, 1ms, 20ms, 1ms}) == times{100ms, 140ms, 150ms, 170ms});
}

TEST_CASE("delaying runs at once and counts ticks from there") {
  const tick_rule rule{.interval = 10ms, .missed = missed_ticks::delay};
  CHECK(begins(rule, {35ms, 1ms, 1ms, 12ms, 1ms}) == times{100ms, 135ms, 145ms, 155ms, 167ms});
}

TEST_CASE("a first tick that has passed is a missed tick") {
  const time_point now = at(1'000ms + 3ms);
  const auto first = [&](missed_ticks missed) {
    return tick_rule{.interval = 10ms, .missed = missed}.due(at(5ms), now);
  };
  CHECK(first(missed_ticks::burst) == at(5ms));
  CHECK(first(missed_ticks::skip) == at(1'005ms));
  CHECK(first(missed_ticks::delay) == now);
  CHECK(tick_rule{.interval = 10ms, .missed = missed_ticks::skip}.due(now, now) == now);
  CHECK(tick_rule{.interval = 10ms, .missed = missed_ticks::skip}.due(at(3ms), now) == now);
}

TEST_CASE("a first tick that has passed by less than an interval is late and not missed") {
  const auto first = [](missed_ticks missed, duration ago) {
    return tick_rule{.interval = 10ms, .missed = missed}.first_due(at(1s) - ago, at(1s)) - at(1s);
  };
  CHECK(first(missed_ticks::skip, 1ns) == -1ns);
  CHECK(first(missed_ticks::skip, 10ms - 1ns) == -(10ms - 1ns));
  CHECK(first(missed_ticks::skip, 10ms) == 0ns);
  CHECK(first(missed_ticks::skip, 11ms) == 9ms);
  CHECK(first(missed_ticks::burst, 11ms) == -11ms);
  CHECK(first(missed_ticks::delay, 11ms) == 0ns);
  CHECK(first(missed_ticks::skip, -5ms) == 5ms);
  const tick_rule longest{.interval = duration::max(), .missed = missed_ticks::skip};
  CHECK(longest.first_due(time_point::min(), at(-2ns)) == time_point::min());
  CHECK(longest.first_due(time_point::min(), time_point::max()) == time_point::max());
}

TEST_CASE("no time and no interval leads out of what a clock can hold") {
  const std::array<time_point, 5> points{time_point::min(), at(-1ns), at(0ns), at(1'000h), time_point::max()};
  for (const duration interval : {duration(1), duration(1h), duration::max() - 1ns, duration::max()})
    for (const auto mode : {every_mode::fixed_rate, every_mode::fixed_delay})
      for (const auto missed : {missed_ticks::burst, missed_ticks::skip, missed_ticks::delay})
        for (const time_point tick : points)
          for (const time_point now : points) {
            const tick_rule rule{.interval = interval, .mode = mode, .missed = missed};
            const time_point next = rule.after(tick, now);
            if (mode == every_mode::fixed_delay || missed != missed_ticks::burst) CHECK(next >= now);
            if (missed == missed_ticks::burst && now != time_point::max()) CHECK(next > std::min(tick, now));
          }
}

TEST_CASE("a span takes any duration, rounds up, and is as long or as short as can be where it does not fit") {
  CHECK(time_span().value() == 0ns);
  CHECK(time_span(3h).value() == 3h);
  CHECK(time_span(-2ms).value() == -2ms);
  CHECK(time_span(std::chrono::duration<long, std::pico>(1'001)).value() == 2ns);
  CHECK(time_span(std::chrono::duration<double>(0.25)).value() == 250ms);
  CHECK(time_span(std::chrono::duration<double>(1e-12)).value() == 1ns);
  CHECK(time_span(std::chrono::hours::max()).value() == duration::max());
  CHECK(time_span(std::chrono::hours::min()).value() == duration::min());
  CHECK(time_span(std::chrono::duration<double>(1e300)).value() == duration::max());
  CHECK(time_span(std::chrono::duration<double>(-1e300)).value() == duration::min());
  CHECK(time_span(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())).value() == duration::min());
}

TEST_CASE("a sum that no clock can hold is none") {
  CHECK(later(at(1s), 2s) == at(3s));
  CHECK(later(time_point::max(), 0ns) == time_point::max());
  CHECK_FALSE(later(time_point::max(), 1ns).has_value());
  CHECK_FALSE(later(time_point::min(), -1ns).has_value());
}
