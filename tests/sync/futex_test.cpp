// tests/sync/futex_test.cpp: a thread sleeps while the word holds what it expects, until a wake or its deadline.
#include <braid/sync/detail/futex.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>

#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>

using braid::atomic;
using braid::relaxed;
using braid::detail::futex_wait;
using braid::detail::futex_wait_status;
using braid::detail::futex_wake;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

/// Threads that sleep while a word is 0.
struct sleepers {
  sleepers() {
    for (auto& one : threads)
      one = std::make_unique<sleeper>([this] {
        while (word.load(relaxed) == 0 && !one_may_go()) futex_wait(word, 0);
      });
  }
  ~sleepers() {
    word.store(1, relaxed);
    futex_wake(word, INT_MAX);
  }

  /// One permission to leave is taken, if there is one.
  auto one_may_go() -> bool {
    int seen = permits.load(relaxed);
    while (seen > 0)
      if (permits.compare_exchange_weak(seen, seen - 1, relaxed, relaxed)) return true;
    return false;
  }

  [[nodiscard]] auto gone() const -> int {
    int count = 0;
    for (const auto& one : threads) count += one->returned() ? 1 : 0;
    return count;
  }

  atomic<std::uint32_t> word{0};
  atomic<int> permits{0};
  std::array<std::unique_ptr<sleeper>, 3> threads;
};

}  // namespace

TEST_CASE("a word that holds something else is not waited for") {
  const atomic<std::uint32_t> word{7};
  CHECK(futex_wait(word, 8) == futex_wait_status::woken);
  CHECK(futex_wait(word, 8, braid::steady_time().now() + 1h) == futex_wait_status::woken);
}

TEST_CASE("a deadline that has passed times out, even one before the clock began") {
  const atomic<std::uint32_t> word{7};
  CHECK(futex_wait(word, 7, braid::steady_time().now() - 1ms) == futex_wait_status::timed_out);
  CHECK(futex_wait(word, 7, braid::time_point{}) == futex_wait_status::timed_out);
  CHECK(futex_wait(word, 7, braid::time_point{-1ns}) == futex_wait_status::timed_out);
  CHECK(futex_wait(word, 7, braid::time_point::min()) == futex_wait_status::timed_out);
}

TEST_CASE("a wait that times out does so at its deadline and not before") {
  const atomic<std::uint32_t> word{7};
  const auto deadline = braid::steady_time().now() + 3ms;
  while (futex_wait(word, 7, deadline) != futex_wait_status::timed_out) {}
  CHECK(braid::steady_time().now() >= deadline);
}

TEST_CASE("the last representable time is a deadline too") {
  atomic<std::uint32_t> word{0};
  sleeper waiting([&] {
    while (word.load(relaxed) == 0) futex_wait(word, 0, braid::time_point::max());
  });
  CHECK(waiting.falls_asleep());
  word.store(1, relaxed);
  futex_wake(word, 1);
  CHECK(braid::testing::eventually([&] { return waiting.returned(); }));
}

TEST_CASE("a wake lets as many go as it says") {
  sleepers all;
  for (const auto& one : all.threads) REQUIRE(one->falls_asleep());
  all.permits.store(3, relaxed);
  futex_wake(all.word, 1);
  CHECK(braid::testing::eventually([&] { return all.gone() == 1; }));
  int asleep = 0;
  for (const auto& one : all.threads) asleep += one->falls_asleep() ? 1 : 0;
  CHECK(asleep == 2);
  futex_wake(all.word, 2);
  CHECK(braid::testing::eventually([&] { return all.gone() == 3; }));
}
