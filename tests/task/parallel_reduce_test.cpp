// tests/task/parallel_reduce_test.cpp: totals are right, in order, and the same for any number of workers.
#include <braid/task/parallel.hpp>

#include <braid/base/random.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using braid::errc;
using braid::parallel_reduce;
using braid::pool;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

auto numbers(std::size_t count) -> std::vector<double> {
  braid::random_source random(7);
  std::vector<double> all(count);
  for (double& each : all) each = static_cast<double>(random.below(1'000'000)) / 7.0 - 50'000;
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(watched, "sums are right for any number of elements") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      for (const std::int64_t count : {0, 1, 2, 15, 16, 17, 31, 33, 255, 257, 5000, 99'999}) {
        CHECK(parallel_reduce(std::views::iota(std::int64_t{0}, count), std::int64_t{5}, std::plus{}) ==
              5 + count * (count - 1) / 2);
        CHECK(parallel_reduce(std::views::iota(std::int64_t{0}, count), std::int64_t{0}, std::plus{},
                              [](std::int64_t i) { return 2 * i; }, {.grain = 3}) == count * (count - 1));
      }
    });
  }
  CHECK(parallel_reduce(std::views::iota(0, 100), 0, std::plus{}) == 4950);  // in the pool of the process
}

TEST_CASE_FIXTURE(watched, "elements are joined in their order") {
  pool where({.workers = 3});
  std::vector<std::string> letters;
  std::string expected = ">";
  for (int i = 0; i < 700; ++i) {
    letters.emplace_back(1, static_cast<char>('a' + i % 26));
    expected += letters.back();
  }
  for (int round = 0; round < 20; ++round)
    CHECK(run_in(where, [&] { return parallel_reduce(letters, std::string(">"), std::plus{}); }) == expected);
}

TEST_CASE_FIXTURE(watched, "sums of floating-point numbers are the same for any number of workers") {
  const std::vector<double> all = numbers(54'321);
  std::set<std::uint64_t> sums;
  for (const unsigned workers : {1U, 2U, 3U, 4U}) {
    pool where({.workers = workers});
    for (int round = 0; round < 10; ++round)
      sums.insert(std::bit_cast<std::uint64_t>(run_in(where, [&] { return parallel_reduce(all, 0.0, std::plus{}); })));
  }
  braid::inline_executor in_place;
  sums.insert(std::bit_cast<std::uint64_t>(run_in(in_place, [&] { return parallel_reduce(all, 0.0, std::plus{}); })));
  CHECK(sums.size() == 1);
}

TEST_CASE_FIXTURE(watched, "totals that can only be moved are moved") {
  pool where({.workers = 2});
  using held = std::unique_ptr<int>;
  const auto sum = run_in(where, [] {
    return parallel_reduce(
        std::views::iota(0, 1000), std::make_unique<int>(0),
        [](held left, const held& right) {
          *left += *right;
          return left;
        },
        [](int i) { return std::make_unique<int>(i); });
  });
  CHECK(*sum == 499'500);
}

TEST_CASE_FIXTURE(watched, "what throws arrives, and a stopped run has no value") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      const std::vector<int> all(10'000, 1);
      CHECK_THROWS_WITH(parallel_reduce(all, 0, [](int, int) -> int { throw std::runtime_error("combine"); }),
                        "combine");
      std::stop_source source;
      CHECK(parallel_reduce(source.get_token(), all, 0, std::plus{}) == 10'000);
      const auto stopped = parallel_reduce(source.get_token(), all, 0, std::plus{}, [&source](int i) {
        source.request_stop();
        return i;
      });
      CHECK(stopped == braid::fail(errc::stopped));
    });
  }
}
