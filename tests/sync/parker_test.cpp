// tests/sync/parker_test.cpp: a permit is never lost, never doubled, and nobody gets through without one.
#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

using braid::detail::parker;
using braid::testing::eventually;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

auto past() -> braid::time_point { return braid::steady_time().now() - 1ms; }

}  // namespace

TEST_CASE("a permit handed out before the park lets it through at once") {
  const braid::testing::watchdog dog(60s);
  parker place;
  place.unpark();
  place.park();
  place.unpark();
  CHECK(place.park_until(past()));
}

TEST_CASE("permits do not add up") {
  parker place;
  place.unpark();
  place.unpark();
  place.park();
  CHECK_FALSE(place.park_until(past()));
}

TEST_CASE("without a permit a park with a deadline gives up, and not before the deadline") {
  const braid::testing::watchdog dog(60s);
  parker place;
  CHECK_FALSE(place.park_until(past()));
  CHECK_FALSE(place.park_until(braid::time_point::min()));
  const auto deadline = braid::steady_time().now() + 2ms;
  CHECK_FALSE(place.park_until(deadline));
  CHECK(braid::steady_time().now() >= deadline);
}

TEST_CASE("a permit that comes after a timeout is there for the next park") {
  const braid::testing::watchdog dog(60s);
  parker place;
  CHECK_FALSE(place.park_until(past()));
  place.unpark();
  place.park();
  CHECK_FALSE(place.park_until(past()));
}

TEST_CASE("a parked thread sleeps until it is unparked, and sees what was written before") {
  parker place;
  int message = 0;
  int received = 0;
  sleeper waiting([&] {
    place.park();
    received = message;
  });
  CHECK(waiting.falls_asleep());
  message = 42;
  place.unpark();
  REQUIRE(eventually([&] { return waiting.returned(); }));
  CHECK(received == 42);
}

TEST_CASE("a thread parked with a deadline far ahead is woken by a permit") {
  parker place;
  bool permitted = false;
  sleeper waiting([&] { permitted = place.park_until(braid::time_point::max()); });
  CHECK(waiting.falls_asleep());
  place.unpark();
  REQUIRE(eventually([&] { return waiting.returned(); }));
  CHECK(permitted);
}

TEST_CASE("a wake for the word without a permit lets nobody through") {
  parker place;
  sleeper waiting([&] { place.park(); });
  CHECK(waiting.falls_asleep());
  // The parker's only member is the word it sleeps on; a stray wake is what a reused address would cause.
  static_assert(sizeof(parker) == sizeof(braid::atomic<std::uint32_t>));
  for (int i = 0; i < 20; ++i)
    braid::detail::futex_wake(reinterpret_cast<const braid::atomic<std::uint32_t>&>(place), 1);
  CHECK(waiting.falls_asleep());
  place.unpark();
  CHECK(eventually([&] { return waiting.returned(); }));
}

TEST_CASE("a parker may be destroyed as soon as its permit has been taken") {
  const braid::testing::watchdog dog(60s);
  int rounds = 0;
  for (; rounds < 500; ++rounds) {
    auto place = std::make_unique<parker>();
    std::thread other([target = place.get()] { target->unpark(); });
    place->park();
    place.reset();
    other.join();
  }
  CHECK(rounds == 500);  // or the watchdog, or the address sanitizer, has ended the program
}
