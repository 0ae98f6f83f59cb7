// tests/task/fork_pace_test.cpp: forks are left out only when a row of them has proved to be short.
#include <braid/task/detail/fork_pace.hpp>

#include <braid/base/clock.hpp>

#include <doctest/doctest.h>

#include <limits>

using braid::detail::fork_pace;
using namespace std::chrono_literals;

namespace {

constexpr auto none = std::numeric_limits<std::int64_t>::max();

/// So many forks come back, one after another.
void reacquire(fork_pace& pace, braid::manual_clock& clock, int count, braid::duration each) {
  for (int i = 0; i < count; ++i) {
    clock.advance(each);
    pace.came_back();
  }
}

}  // namespace

TEST_CASE("at first no fork is left out") {
  braid::manual_clock clock;
  const fork_pace pace(clock);
  CHECK(pace.enough() == none);
  CHECK(pace.enough_of_a_loop() == none);
}

TEST_CASE("a row of short forks allows it, until a thief asks") {
  braid::manual_clock clock;
  fork_pace pace(clock);
  reacquire(pace, clock, 23, 100ns);
  CHECK(pace.enough() == none);
  reacquire(pace, clock, 1, 100ns);
  CHECK(pace.enough() == 4);
  CHECK(pace.enough_of_a_loop() == 1);
  pace.was_asked();
  CHECK(pace.enough() == none);
  CHECK(pace.enough_of_a_loop() == none);
  reacquire(pace, clock, 24, 100ns);
  CHECK(pace.enough() == 4);
}

TEST_CASE("forks are counted from the number that stands for none") {
  braid::manual_clock clock;
  fork_pace pace(clock, -1'000);
  reacquire(pace, clock, 24, 100ns);
  CHECK(pace.enough() == -996);
  CHECK(pace.enough_of_a_loop() == -999);
  pace.was_asked();
  CHECK(pace.enough() == none);
}

TEST_CASE("a row with one long fork does not, and the next one is looked at anew") {
  braid::manual_clock clock;
  fork_pace pace(clock);
  reacquire(pace, clock, 20, 1ns);
  reacquire(pace, clock, 1, 20ms);
  reacquire(pace, clock, 3, 1ns);
  CHECK(pace.enough() == none);
  reacquire(pace, clock, 24, 1ns);
  CHECK(pace.enough() == 4);
}
