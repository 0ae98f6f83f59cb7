// tests/task/driver_test.cpp: what can put a worker to sleep, and what cannot.
#include <braid/task/driver.hpp>

#include <braid/sync/parker.hpp>

#include <doctest/doctest.h>

using braid::driver;
using braid::time_point;

namespace {

struct counting_driver {
  void park() noexcept { ++parked; }
  [[nodiscard]] auto park_until(time_point /*when*/) noexcept -> bool { return parked > 0; }
  void unpark() noexcept { --parked; }
  int parked = 0;
};

struct no_deadline {
  void park() noexcept {}
  void unpark() noexcept {}
};

struct may_throw {
  void park() {}
  auto park_until(time_point /*when*/) -> bool { return true; }
  void unpark() {}
};

struct answers_nothing {
  void park() noexcept {}
  void park_until(time_point /*when*/) noexcept {}
  void unpark() noexcept {}
};

auto sleeps_once(driver auto& place) -> bool {
  place.unpark();
  place.park();
  return !place.park_until(time_point{});
}

}  // namespace

TEST_CASE("a parker is a driver, and so is anything with the three calls") {
  CHECK(driver<braid::parker>);
  CHECK(driver<counting_driver>);
}

TEST_CASE("a driver needs a deadline, an answer, and must not throw") {
  CHECK_FALSE(driver<no_deadline>);
  CHECK_FALSE(driver<may_throw>);
  CHECK_FALSE(driver<answers_nothing>);
  CHECK_FALSE(driver<int>);
}

TEST_CASE("code written against the concept runs with each driver") {
  braid::parker parker;
  counting_driver counting;
  CHECK(sleeps_once(parker));
  CHECK(sleeps_once(counting));
}
