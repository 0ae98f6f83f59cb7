// tests/sync/event_count_test.cpp: a waiter that has announced itself is woken by every later notify.
#include <braid/sync/detail/event_count.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <chrono>
#include <memory>

using braid::detail::event_count;
using braid::testing::eventually;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

auto past() -> braid::time_point { return braid::steady_time().now() - 1ms; }

/// Three threads that each wait for one notify.
struct three_waiters {
  three_waiters() {
    for (auto& one : threads) one = std::make_unique<sleeper>([this] { events.wait(events.prepare()); });
  }

  [[nodiscard]] auto woken() const -> int {
    int count = 0;
    for (const auto& one : threads) count += one->returned() ? 1 : 0;
    return count;
  }

  [[nodiscard]] auto all_asleep() const -> bool {
    for (const auto& one : threads)
      if (!one->falls_asleep()) return false;
    return true;
  }

  event_count events;
  std::array<std::unique_ptr<sleeper>, 3> threads;
};

}  // namespace

TEST_CASE("a notify between prepare and wait ends the wait before it begins") {
  const braid::testing::watchdog dog(60s);
  event_count events;
  const auto first = events.prepare();
  events.notify_one();
  events.wait(first);
  const auto second = events.prepare();
  events.notify_all();
  CHECK(events.wait_until(second, past()));
}

TEST_CASE("a notify before prepare is not for this waiter") {
  event_count events;
  events.notify_one();
  events.notify_all();
  CHECK_FALSE(events.wait_until(events.prepare(), past()));
}

TEST_CASE("a wait without a notify gives up at its deadline and not before") {
  const braid::testing::watchdog dog(60s);
  event_count events;
  CHECK_FALSE(events.wait_until(events.prepare(), braid::time_point::min()));
  const auto deadline = braid::steady_time().now() + 2ms;
  CHECK_FALSE(events.wait_until(events.prepare(), deadline));
  CHECK(braid::steady_time().now() >= deadline);
}

TEST_CASE("who cancels can announce itself again") {
  const braid::testing::watchdog dog(60s);
  event_count events;
  static_cast<void>(events.prepare());
  events.cancel();
  const auto key = events.prepare();
  events.notify_one();
  events.wait(key);
  CHECK_FALSE(events.wait_until(events.prepare(), past()));
}

TEST_CASE("notify_one wakes one of several sleepers") {
  three_waiters all;
  REQUIRE(all.all_asleep());
  for (int expected = 1; expected <= 3; ++expected) {
    all.events.notify_one();
    CHECK(eventually([&] { return all.woken() == expected; }));
  }
}

TEST_CASE("notify_all wakes every sleeper") {
  three_waiters all;
  REQUIRE(all.all_asleep());
  all.events.notify_all();
  CHECK(eventually([&] { return all.woken() == 3; }));
}

TEST_CASE("what was written before a notify is visible after the wait") {
  event_count events;
  int message = 0;
  int received = 0;
  sleeper waiting([&] {
    const auto key = events.prepare();
    events.wait(key);
    received = message;
  });
  CHECK(waiting.falls_asleep());
  message = 42;
  events.notify_one();
  REQUIRE(eventually([&] { return waiting.returned(); }));
  CHECK(received == 42);
}

TEST_CASE("a sleeper with a deadline far ahead is woken by a notify") {
  event_count events;
  bool notified = false;
  sleeper waiting([&] { notified = events.wait_until(events.prepare(), braid::time_point::max()); });
  CHECK(waiting.falls_asleep());
  events.notify_one();
  REQUIRE(eventually([&] { return waiting.returned(); }));
  CHECK(notified);
}
