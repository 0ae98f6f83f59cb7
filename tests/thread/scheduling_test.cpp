// tests/thread/scheduling_test.cpp: policies hold only the numbers they take, and say what they are.
#include <braid/thread/scheduling.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <concepts>
#include <limits>
#include <ostream>
#include <system_error>
#include <type_traits>

using braid::nice_value;
using braid::realtime_priority;
using braid::scheduling;
using namespace std::chrono_literals;

namespace {

template <typename Number, int Value>
concept can_be_written = requires { typename std::integral_constant<int, Number(Value).value()>; };

static_assert(can_be_written<nice_value, -20> && can_be_written<nice_value, 19>);
static_assert(!can_be_written<nice_value, -21> && !can_be_written<nice_value, 20>);
static_assert(can_be_written<realtime_priority, 1> && can_be_written<realtime_priority, 99>);
static_assert(!can_be_written<realtime_priority, 0> && !can_be_written<realtime_priority, 100>);

// The numbers of one kind of policy do not go with the other kind, and a real-time policy has no priority by default.
template <typename Policy, typename Number>
concept takes = requires(Number number) { Policy{number}; };
static_assert(takes<scheduling::other, nice_value> && !takes<scheduling::other, realtime_priority>);
static_assert(takes<scheduling::batch, nice_value> && !takes<scheduling::batch, realtime_priority>);
static_assert(takes<scheduling::fifo, realtime_priority> && !takes<scheduling::fifo, nice_value>);
static_assert(takes<scheduling::round_robin, realtime_priority> && !takes<scheduling::round_robin, nice_value>);
static_assert(!takes<scheduling::idle, nice_value> && !takes<scheduling::idle, realtime_priority>);
static_assert(!std::default_initializable<realtime_priority> && !std::default_initializable<scheduling::fifo>);
static_assert(!std::convertible_to<int, scheduling> && !std::convertible_to<nice_value, scheduling>);

constexpr scheduling fixed = scheduling::fifo{5};
static_assert(fixed.is<scheduling::fifo>() && !fixed.is<scheduling::round_robin>());

}  // namespace

TEST_CASE("numbers of the run time are taken inside of their range and refused outside") {
  for (int value = -20; value <= 19; ++value) {
    CHECK(nice_value::from(value)->value() == value);
  }
  for (int value = 1; value <= 99; ++value) {
    CHECK(realtime_priority::from(value)->value() == value);
  }
  constexpr int lowest = std::numeric_limits<int>::min();
  constexpr int highest = std::numeric_limits<int>::max();
  for (const int value : {-21, 20, lowest, highest}) {
    CAPTURE(value);
    REQUIRE_FALSE(nice_value::from(value));
    CHECK(nice_value::from(value).error() == std::errc::invalid_argument);
  }
  for (const int value : {0, 100, -1, lowest, highest}) {
    CAPTURE(value);
    REQUIRE_FALSE(realtime_priority::from(value));
    CHECK(realtime_priority::from(value).error() == std::errc::invalid_argument);
  }
}

TEST_CASE("numbers are ordered") {
  CHECK(nice_value(-5) < nice_value(5));
  CHECK(nice_value() == nice_value(0));
  CHECK(realtime_priority(99) > realtime_priority(1));
}

TEST_CASE("a policy gives the number that it has and no other") {
  CHECK(scheduling() == scheduling(scheduling::other{0}));
  CHECK(scheduling(scheduling::other{-3}).nice() == nice_value(-3));
  CHECK(scheduling(scheduling::batch{7}).nice() == nice_value(7));
  CHECK_FALSE(scheduling(scheduling::batch{7}).priority());
  CHECK(scheduling(scheduling::fifo{10}).priority() == realtime_priority(10));
  CHECK(scheduling(scheduling::round_robin{11}).priority() == realtime_priority(11));
  CHECK_FALSE(scheduling(scheduling::round_robin{11}).nice());
  CHECK_FALSE(scheduling(scheduling::idle{}).nice());
  CHECK_FALSE(scheduling(scheduling::idle{}).priority());
  CHECK_FALSE(scheduling(scheduling::deadline{1ms, 2ms, 3ms}).priority());
}

TEST_CASE("policies differ when their kind or a number does") {
  CHECK(scheduling(scheduling::fifo{10}) == scheduling(scheduling::fifo{10}));
  CHECK(scheduling(scheduling::fifo{10}) != scheduling(scheduling::fifo{11}));
  CHECK(scheduling(scheduling::fifo{10}) != scheduling(scheduling::round_robin{10}));
  CHECK(scheduling(scheduling::other{1}) != scheduling(scheduling::batch{1}));
  CHECK(scheduling(scheduling::deadline{1ms, 2ms, 3ms}) != scheduling(scheduling::deadline{1ms, 2ms, 4ms}));
}

TEST_CASE("policies are printed for people") {
  CHECK(scheduling().to_string() == "other, nice 0");
  CHECK(scheduling(scheduling::batch{-20}).to_string() == "batch, nice -20");
  CHECK(scheduling(scheduling::idle{}).to_string() == "idle");
  CHECK(scheduling(scheduling::fifo{1}).to_string() == "fifo, priority 1");
  CHECK(scheduling(scheduling::round_robin{99}).to_string() == "round robin, priority 99");
  const scheduling timed = scheduling::deadline{.runtime = 1ms, .deadline = 4ms, .period = 8ms};
  CHECK(timed.to_string() == "deadline, 1000000 ns of every 8000000 ns within 4000000 ns");
}
