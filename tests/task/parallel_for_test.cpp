// tests/task/parallel_for_test.cpp: every number is dealt with once, or the caller is told.
#include <braid/task/parallel.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/stolen.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

using braid::errc;
using braid::parallel_for;
using braid::relaxed;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

/// Whether each number below `count` is met once.
auto meets_all_once(std::size_t count, braid::parallel_options how = {}) -> bool {
  std::vector<braid::atomic<int>> met(count);
  parallel_for(std::size_t{0}, count, [&met](std::size_t i) { met[i].fetch_add(1, relaxed); }, how);
  return std::ranges::all_of(met, [](const auto& each) { return each.load(relaxed) == 1; });
}

}  // namespace

TEST_CASE_FIXTURE(watched, "each number is met once, however many there are and whatever the grain") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      for (const std::size_t count : {0, 1, 2, 3, 10, 127, 1000, 4097, 100'000}) {
        CHECK(meets_all_once(count));
        CHECK(meets_all_once(count, {.grain = 1}));
        CHECK(meets_all_once(count, {.grain = 1'000'000}));
      }
    });
  }
  CHECK(meets_all_once(10'000));  // in the pool of the process
}

TEST_CASE_FIXTURE(watched, "signed numbers, narrow ones and the ends of their range are right") {
  pool where({.workers = 2});
  run_in(where, [] {
    braid::atomic<std::int64_t> sum{0};
    parallel_for(-50, 51, [&sum](int i) { sum.fetch_add(i, relaxed); });
    CHECK(sum.load(relaxed) == 0);
    braid::atomic<int> count{0};
    const auto meet = [&count](auto) { count.fetch_add(1, relaxed); };
    parallel_for(std::int8_t{-128}, std::int8_t{127}, meet);
    CHECK(count.load(relaxed) == 255);
    parallel_for(5, 3, meet);
    CHECK(count.load(relaxed) == 255);
    constexpr auto max_count = std::numeric_limits<std::int64_t>::max();
    parallel_for(max_count - 10, max_count,
                 [&count](std::int64_t i) { count.fetch_add(i > max_count - 11 ? 1 : 100, relaxed); });
    CHECK(count.load(relaxed) == 265);
    const std::size_t many = 3;
    parallel_for(0, many, [](auto i) { static_assert(std::same_as<decltype(i), std::size_t>); });
    constexpr auto beyond = std::int64_t{1} << 32;
    std::vector<std::int64_t> last(1);
    parallel_for(beyond, beyond + 1, [&last](std::int64_t i) { last[0] = i; });
    CHECK(last[0] == beyond);
  });
}

TEST_CASE_FIXTURE(watched, "several workers take part, and other pools do not" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [&where] {
    const auto self = std::this_thread::get_id();
    braid::testing::begun other;
    braid::atomic<bool> elsewhere{false};
    parallel_for(0, 1'000,
                 [&](int i) {
                   if (!where.is_current()) elsewhere.store(true, relaxed);
                   if (std::this_thread::get_id() != self)
                     other.raise();
                   else if (i == 0)
                     other.await();  // the later half waits for somebody else
                 },
                 {.grain = 1});
    CHECK_FALSE(elsewhere.load(relaxed));
  });
}

TEST_CASE_FIXTURE(watched, "what a first number throws leaves only when the chunks that have begun have ended" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 3});
  for (int round = 0; round < 20; ++round) {
    braid::testing::begun others;
    braid::atomic<int> inside{0};
    const auto body = [&](int i) {
      if (i == 0) {
        others.await();
        throw std::runtime_error("zero");
      }
      inside.fetch_add(1, relaxed);
      others.raise();
      for (int k = 0; k < 10; ++k) std::this_thread::yield();
      inside.fetch_sub(1, relaxed);
    };
    const auto loop = [&] { parallel_for(0, 1000, body, {.grain = 1}); };
    CHECK_THROWS_WITH_AS(run_in(where, loop), "zero", std::runtime_error);
    CHECK(inside.load(relaxed) == 0);
  }
}

TEST_CASE_FIXTURE(watched, "a loop that is stopped says so, and leaves chunks out") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      std::stop_source source;
      braid::atomic<int> met{0};
      CHECK(parallel_for(source.get_token(), 0, 100, [&](int) { met.fetch_add(1, relaxed); }));
      CHECK(met.load(relaxed) == 100);
      const auto stopped =
          parallel_for(source.get_token(), 0, 1'000'000, [&](int) { source.request_stop(); }, {.grain = 1});
      REQUIRE_FALSE(stopped);
      CHECK(stopped.error() == errc::stopped);
      braid::stop_flag flag;
      flag.request(errc::deadline_exceeded);
      CHECK(parallel_for(flag, 0, 10, [&](int) { met.store(-1, relaxed); }) == braid::fail(errc::deadline_exceeded));
      CHECK(met.load(relaxed) == 100);
    });
  }
}

TEST_CASE_FIXTURE(watched, "loops may be nested, and run from posted jobs and forks") {
  pool where({.workers = 2});
  braid::atomic<int> met{0};
  const auto nested = [&met] {
    parallel_for(0, 20, [&met](int) { parallel_for(0, 20, [&met](int) { met.fetch_add(1, relaxed); }); });
  };
  run_in(where, nested);
  CHECK(met.load(relaxed) == 400);
  for (int i = 0; i < 10; ++i) REQUIRE(braid::post(where, nested));
  CHECK(where.wait_idle());
  CHECK(met.load(relaxed) == 4400);
}
