// tests/coro/serial_jobs_stress.cpp: serial executors under many posters, and while their pool shuts down.
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>

#include <braid/base/random.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using braid::pool;
using braid::relaxed;
using braid::serial_executor;
using braid::shutdown_mode;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

/// Counted without an atomic by the jobs of one of them, and with one when they are dropped.
struct ledger {
  std::uint64_t ran = 0;
  braid::atomic<std::uint64_t> ended{0};
};

/// A capture that says that its job is gone, run or not.
class ending {
 public:
  explicit ending(ledger& of) noexcept : of_(&of) {}
  ending(ending&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  auto operator=(ending&&) -> ending& = delete;
  ~ending() {
    if (of_ != nullptr) of_->ended.fetch_add(1, relaxed);
  }

 private:
  ledger* of_;
};

}  // namespace

TEST_CASE("what many threads post to many serial executors runs once, alone, in each poster's order") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  constexpr std::size_t strands = 4;
  constexpr std::size_t posters = 3;
  const std::size_t each = scaled(40'000);
  struct pool_of_one {
    std::uint64_t ran = 0;
    std::uint64_t last[posters] = {};
    bool ordered = true;
    bool inside = false;
  } seen[strands];
  {
    pool where({.workers = 3});
    std::vector<std::unique_ptr<serial_executor>> all;
    for (std::size_t i = 0; i < strands; ++i) all.push_back(std::make_unique<serial_executor>(where));
    std::vector<std::thread> threads;
    for (std::size_t poster = 0; poster < posters; ++poster)
      threads.emplace_back([&, poster] {
        braid::random_source random(seed + poster);
        for (std::uint64_t i = 1; i <= each; ++i) {
          const std::size_t to = random.below(strands);
          const bool taken = braid::post(*all[to], [at = &seen[to], poster, i] {
                               at->ordered = at->ordered && !at->inside && at->last[poster] < i;
                               at->inside = true;
                               at->last[poster] = i;
                               ++at->ran;
                               at->inside = false;
                             }).has_value();
          if (!taken) std::abort();
          if (random.below(64) == 0) std::this_thread::yield();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::uint64_t total = 0;
  for (const pool_of_one& one : seen) {
    CHECK(one.ordered);
    total += one.ran;
  }
  CHECK(total == posters * each);
}

TEST_CASE("a pool that shuts down under its serial executors loses none of their jobs") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  std::uint64_t dropped = 0;
  for (std::size_t round = 0; round < scaled(1'500); ++round) {
    braid::random_source random(seed + round);
    ledger book;
    braid::atomic<std::uint64_t> accepted{0};
    {
      pool where({.workers = 2});
      serial_executor one(where);
      std::vector<std::thread> posters;
      for (int i = 0; i < 2; ++i)
        posters.emplace_back([&] {
          while (braid::post(one, [&book, end = ending(book)] { ++book.ran; })) accepted.fetch_add(1, relaxed);
        });
      for (auto steps = random.below(20'000); steps > 0; --steps) static_cast<void>(random());
      const auto mode = round % 2 == 0 ? shutdown_mode::drain : shutdown_mode::drop_pending;
      REQUIRE(where.shutdown(mode));
      for (std::thread& poster : posters) poster.join();
    }
    REQUIRE(book.ended.load(relaxed) == accepted.load(relaxed) + 2);  // and the two that were refused
    REQUIRE(book.ran <= accepted.load(relaxed));
    dropped += accepted.load(relaxed) - book.ran;
  }
  std::printf("dropped %llu\n", static_cast<unsigned long long>(dropped));
}
