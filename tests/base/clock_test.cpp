// tests/base/clock_test.cpp: the system's clock runs forward, the manual one only when it is turned.
#include <braid/base/clock.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;

TEST_CASE("the steady clock never goes back and is the monotonic clock of the system") {
  const braid::clock_source& clock = braid::steady_time();
  auto before = clock.now();
  const auto lowest = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.now();
    REQUIRE(now >= before);
    before = now;
  }
  CHECK(before >= lowest);
  CHECK(before <= std::chrono::steady_clock::now());
  CHECK(&braid::steady_time() == &clock);
}

TEST_CASE("a manual clock stands still until it is turned") {
  braid::manual_clock clock;
  const auto start = clock.now();
  CHECK(clock.now() == start);
  clock.advance(3ms);
  CHECK(clock.now() == start + 3ms);
  clock.advance(1ns);
  CHECK(clock.now() - start == 3'000'001ns);
}

TEST_CASE("a manual clock starts after the zero of the clock, so that earlier times exist") {
  const braid::manual_clock clock;
  CHECK(clock.now().time_since_epoch() >= 1s);
}
