// tests/task/parallel_scan_test.cpp: running totals are those of a plain loop, wherever the blocks end.
#include <braid/task/parallel.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

using braid::errc;
using braid::parallel_exclusive_scan;
using braid::parallel_inclusive_scan;
using braid::pool;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

auto numbers(std::size_t count) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> all(count);
  std::iota(all.begin(), all.end(), -3);
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(watched, "both kinds give what a plain loop gives, into another range and in place") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      for (const std::size_t count : {0, 1, 2, 9, 10, 11, 63, 64, 65, 67, 100, 4096, 4097, 4163, 20'000})
        for (const std::size_t grain : {0, 1, 10, 71}) {
          if (grain == 1 && count > 1000) continue;
          const auto all = numbers(count);
          std::vector<std::int64_t> expected(count);
          std::vector<std::int64_t> out(count);
          std::inclusive_scan(all.begin(), all.end(), expected.begin());
          parallel_inclusive_scan(all, out.begin(), std::plus{}, {.grain = grain});
          CHECK(out == expected);
          std::exclusive_scan(all.begin(), all.end(), expected.begin(), std::int64_t{7});
          out = all;
          const auto total = parallel_exclusive_scan(out, out.begin(), std::int64_t{7}, std::plus{}, {.grain = grain});
          CHECK(out == expected);
          CHECK(total == std::accumulate(all.begin(), all.end(), std::int64_t{7}));
        }
    });
  }
}

TEST_CASE_FIXTURE(watched, "elements are joined in their order") {
  pool where({.workers = 2});
  run_in(where, [] {
    const std::vector<std::string> letters{"a", "b", "c", "d", "e"};
    std::vector<std::string> out(5);
    parallel_inclusive_scan(letters, out.begin(), std::plus{}, {.grain = 2});
    CHECK(out.back() == "abcde");
    CHECK(parallel_exclusive_scan(letters, out.begin(), std::string("-"), std::plus{}, {.grain = 2}) == "-abcde");
    CHECK(out.back() == "-abcd");

    std::vector<std::string> many(300);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::to_string(i);
    std::vector<std::string> expected(many.size());
    std::inclusive_scan(many.begin(), many.end(), expected.begin());
    for (const std::size_t count : {16, 17, 18, 25, 26, 256, 300}) {  // of groups of one: one block, or several
      CAPTURE(count);
      const auto some = std::span(many).first(count);
      out.assign(count, "");
      parallel_inclusive_scan(some, out.begin(), std::plus{}, {.grain = 1});
      CHECK(std::ranges::equal(out, std::span(expected).first(count)));
      CHECK(parallel_exclusive_scan(some, out.begin(), std::string("-"), std::plus{}, {.grain = 1}) ==
            "-" + expected[count - 1]);
      CHECK(out.back() == "-" + expected[count - 2]);
    }
  });
}

TEST_CASE_FIXTURE(watched, "few additions of a long scan wait for each other") {
  struct depth {
    unsigned additions = 0;  // the longest chain of them
  };
  const auto deeper = [](depth a, depth b) { return depth{std::max(a.additions, b.additions) + 1}; };
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    run_in(where, [&] {
      std::vector<depth> all(256);
      std::vector<depth> out(all.size());
      parallel_inclusive_scan(all, out.begin(), deeper, {.grain = 1});
      CHECK(std::ranges::max(out, {}, &depth::additions).additions <= 16 + 16 + 1);
    });
  }
}

TEST_CASE_FIXTURE(watched, "small values whose order matters are joined in it, wherever parts and groups end") {
  // x -> scale * x + shift, modulo a prime; joined: the first, then the second.
  struct affine {
    std::uint32_t scale;
    std::uint32_t shift;
    auto operator==(const affine&) const -> bool = default;
  };
  constexpr std::uint64_t prime = 65'521;
  const auto after = [](const affine& first, const affine& second) {
    return affine{
        .scale = static_cast<std::uint32_t>(std::uint64_t{first.scale} * second.scale % prime),
        .shift = static_cast<std::uint32_t>((std::uint64_t{first.shift} * second.scale + second.shift) % prime)};
  };
  pool where({.workers = 2});
  run_in(where, [&] {
    for (const std::size_t count : {3, 64, 66, 129, 131, 1000, 4096, 9000})
      for (const std::size_t grain : {0, 64, 65, 67, 130}) {
        CAPTURE(count);
        CAPTURE(grain);
        std::vector<affine> all(count);
        for (std::uint32_t i = 0; i < count; ++i) all[i] = {.scale = i % 97 + 2, .shift = i};
        std::vector<affine> expected(count);
        std::inclusive_scan(all.begin(), all.end(), expected.begin(), after);
        std::vector<affine> out(count);
        parallel_inclusive_scan(all, out.begin(), after, {.grain = grain});
        CHECK(out == expected);
        const affine init{.scale = 5, .shift = 11};
        std::exclusive_scan(all.begin(), all.end(), expected.begin(), init, after);
        CHECK(parallel_exclusive_scan(all, out.begin(), init, after, {.grain = grain}) ==
              after(expected.back(), all.back()));
        CHECK(out == expected);
      }
  });
}

TEST_CASE_FIXTURE(watched, "totals of floating-point numbers are the same for any number of workers") {
  std::vector<double> all(30'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = 1.0 / static_cast<double>(i + 1);
  for (const std::size_t grain : {0, 500}) {
    std::set<std::uint64_t> lasts;
    for (const unsigned workers : {1U, 2U, 3U}) {
      pool where({.workers = workers});
      std::vector<double> out(all.size());
      run_in(where, [&] { parallel_inclusive_scan(all, out.begin(), std::plus{}, {.grain = grain}); });
      lasts.insert(std::bit_cast<std::uint64_t>(out.back()));
    }
    CHECK(lasts.size() == 1);
  }
}

TEST_CASE_FIXTURE(watched, "a stopped run says so") {
  pool where({.workers = 2});
  run_in(where, [] {
    braid::stop_flag flag;
    auto all = numbers(10'000);
    CHECK(parallel_inclusive_scan(flag, all, all.begin()));
    CHECK(parallel_exclusive_scan(flag, all, all.begin(), std::int64_t{0}));
    flag.request(errc::deadline_exceeded);
    CHECK(parallel_inclusive_scan(flag, all, all.begin()) == braid::fail(errc::deadline_exceeded));
    CHECK(parallel_exclusive_scan(flag, all, all.begin(), std::int64_t{0}) == braid::fail(errc::deadline_exceeded));
  });
}

TEST_CASE_FIXTURE(watched, "a grain beyond all elements divides nothing, and totals may be taken by moves") {
  pool where({.workers = 2});
  run_in(where, [] {
    for (const std::size_t count : {0, 5, 100, 5000}) {
      const auto all = numbers(count);
      std::vector<std::int64_t> out(count);
      const auto add = [](std::int64_t&& a, std::int64_t b) { return a + b; };
      const std::int64_t total =
          parallel_exclusive_scan(all, out.begin(), std::int64_t{100}, add, {.grain = ~std::size_t{0}});
      CHECK(total == std::accumulate(all.begin(), all.end(), std::int64_t{100}));
      parallel_inclusive_scan(all, out.begin(), add, {.grain = ~std::size_t{0}});
      if (count != 0) CHECK(out.back() == total - 100);
    }
  });
}
