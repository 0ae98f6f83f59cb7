// tests/task/parallel_sort_test.cpp: what was there comes out in order, stable where that was asked for.
#include <braid/task/parallel.hpp>

#include <braid/base/random.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using braid::errc;
using braid::parallel_sort;
using braid::parallel_stable_sort;
using braid::pool;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{200s};
};

struct entry {
  std::uint64_t key;
  std::size_t place;
  auto operator==(const entry&) const -> bool = default;
};

/// With so many different keys.
auto entries(std::size_t count, std::uint64_t keys) -> std::vector<entry> {
  braid::random_source random(count + keys);
  std::vector<entry> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = {.key = random.below(keys), .place = i};
  return all;
}

constexpr braid::parallel_options fine{.grain = 16};

}  // namespace

TEST_CASE_FIXTURE(watched, "any number of elements with any number of keys is sorted, and stays what it was") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    for (const std::size_t count : {0, 1, 2, 16, 17, 24, 25, 49, 1000, 30'000})
      for (const std::uint64_t keys : {1, 2, 100, 1'000'000}) {
        const auto before = entries(count, keys);
        auto quick = before;
        auto stable = before;
        run_in(where, [&] {
          parallel_sort(quick, {}, &entry::key, fine);
          parallel_stable_sort(stable, {}, &entry::key, fine);
        });
        auto expected = before;
        std::sort(expected.begin(), expected.end(),
                  [](const entry& a, const entry& b) { return std::pair(a.key, a.place) < std::pair(b.key, b.place); });
        CHECK(stable == expected);
        CHECK(std::ranges::is_sorted(quick, {}, &entry::key));
        std::ranges::sort(quick, {}, &entry::place);
        CHECK(quick == before);
      }
  }
}

TEST_CASE_FIXTURE(watched, "orders that are bad for divisions are sorted, too") {
  pool where({.workers = 2});
  std::vector<int> all(20'000);
  for (const int kind : {0, 1, 2}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int up = static_cast<int>(i);
      all[i] = kind == 0 ? up : kind == 1 ? -up : (up < 10'000 ? up : 20'000 - up);
    }
    auto sorted = all;
    run_in(where, [&] { parallel_sort(sorted, {}, {}, fine); });
    CHECK(std::ranges::is_sorted(sorted));
    run_in(where, [&] { parallel_stable_sort(all, std::greater{}, {}, fine); });
    CHECK(std::ranges::is_sorted(all, std::greater{}));
  }
}

TEST_CASE_FIXTURE(watched, "what is nearly in order, or in the reverse order, is sorted wherever the order breaks") {
  pool where({.workers = 2});
  run_in(where, [] {
    for (const std::size_t broken : {1, 2, 4094, 4095, 4096, 4097, 8191, 8192, 9999})
      for (const bool is_reverse : {false, true}) {
        std::vector<entry> all(10'000);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = {.key = is_reverse ? 10'000 - i : i, .place = i};
        if (is_reverse)
          all[broken].key = all[broken - 1].key;  // equals, which a stable sort leaves in their order
        else
          std::swap(all[broken].key, all[broken - 1].key);
        auto quick = all;
        parallel_sort(quick, {}, &entry::key);
        REQUIRE(std::ranges::is_sorted(quick, {}, &entry::key));
        auto expected = all;
        std::ranges::sort(expected, {}, [](const entry& each) { return std::pair(each.key, each.place); });
        parallel_stable_sort(all, {}, &entry::key);
        REQUIRE(all == expected);
      }
  });
}

TEST_CASE_FIXTURE(watched, "whatever the order, small elements and large ones come out as from std::sort") {
  struct large {
    std::uint64_t key;
    std::uint64_t place;
    std::uint64_t more;
  };
  pool where({.workers = 2});
  braid::random_source random(17);
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = random.below(round % 10 == 0 ? 3000 : 200);
    const std::uint64_t keys = 1 + random.below(round % 3 == 0 ? 5 : 2000);
    std::vector<std::uint64_t> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      switch (round % 5) {
        case 0: numbers[i] = random.below(keys); break;
        case 1: numbers[i] = i % keys; break;                                         // rises again and again
        case 2: numbers[i] = std::min(i, count - i); break;                           // up and down
        case 3: numbers[i] = count - i / keys; break;                                 // down, with equal ones
        default: numbers[i] = random.below(20) == 0 ? random.below(keys) : i; break;  // nearly in order
      }
    }
    auto expected = numbers;
    std::ranges::sort(expected);
    std::vector<std::string> texts;
    std::vector<large> rows;
    for (const std::uint64_t number : numbers) {
      texts.push_back(std::to_string(1'000'000 + number));
      rows.push_back({.key = number, .place = rows.size(), .more = 3 * number});
    }
    run_in(where, [&] {
      parallel_sort(numbers, {}, {}, fine);
      parallel_sort(texts, {}, {}, fine);
      parallel_sort(rows, std::greater{}, &large::key, fine);
    });
    REQUIRE(numbers == expected);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(texts[i] == std::to_string(1'000'000 + expected[i]));
      REQUIRE(rows[i].key == expected[count - 1 - i]);
      REQUIRE(rows[i].more == 3 * rows[i].key);
    }
  }
}

TEST_CASE_FIXTURE(watched, "elements that can only be moved are sorted, in the pool of the process, too") {
  std::vector<std::unique_ptr<int>> all;
  for (int i = 0; i < 5000; ++i) all.push_back(std::make_unique<int>(i * 7919 % 5000));
  const auto value = [](const std::unique_ptr<int>& each) { return *each; };
  parallel_sort(all, {}, value);
  CHECK(std::ranges::is_sorted(all, {}, value));
  parallel_stable_sort(all, std::greater{}, value);
  CHECK(std::ranges::is_sorted(all, std::greater{}, value));
}

TEST_CASE_FIXTURE(watched, "after a comparison of a stable sort has thrown all elements are there") {
  pool where({.workers = 2});
  for (int after = 0; after < 400; after += 7) {
    std::vector<std::unique_ptr<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<int>(i * 37 % 100));
    braid::atomic<int> left{after};
    const auto throws = [&left](const auto& a, const auto& b) {
      if (left.fetch_sub(1, braid::relaxed) <= 0) throw std::runtime_error("enough");
      return *a < *b;
    };
    CHECK_THROWS_WITH(run_in(where, [&] { parallel_stable_sort(all, throws, {}, fine); }), "enough");
    REQUIRE(std::ranges::none_of(all, [](const auto& each) { return each == nullptr; }));
    std::ranges::sort(all, {}, [](const auto& each) { return *each; });
    for (int i = 0; i < 100; ++i) CHECK(*all[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE_FIXTURE(watched, "what a comparison throws arrives") {
  pool where({.workers = 2});
  std::vector<int> all(10'000, 1);
  const auto throws = [](int, int) -> bool { throw std::runtime_error("a comparison"); };
  CHECK_THROWS_WITH(run_in(where, [&] { parallel_sort(all, throws); }), "a comparison");
}

TEST_CASE_FIXTURE(watched, "a stopped run says so") {
  pool where({.workers = 2});
  run_in(where, [] {
    braid::stop_flag flag;
    auto all = entries(1000, 100);
    CHECK(parallel_sort(flag, all, {}, &entry::key));
    CHECK(parallel_stable_sort(flag, all, {}, &entry::key));
    flag.request(errc::stopped);
    CHECK(parallel_sort(flag, all, {}, &entry::key) == braid::fail(errc::stopped));
    CHECK(parallel_stable_sort(flag, all, {}, &entry::key) == braid::fail(errc::stopped));
  });
}

TEST_CASE_FIXTURE(watched,
                  "elements that are only moved, members that are not const, and a grain beyond all are taken") {
  struct moved {
    int value = 0;
    explicit moved(int given) : value(given) {}
    moved(moved&&) = default;
    auto operator=(moved&&) -> moved& = default;
    auto key() -> int { return value; }  // not const
  };
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<moved> all;
    std::vector<int> numbers;
    for (int i = 0; i < 5000; ++i) {
      all.emplace_back(i * 7919 % 5003);
      numbers.push_back(i * 7919 % 5003);
    }
    parallel_sort(all, {}, &moved::key, fine);
    CHECK(std::ranges::is_sorted(all, {}, &moved::value));
    parallel_sort(numbers, [](int& a, int& b) { return a < b; }, {}, fine);
    CHECK(std::ranges::is_sorted(numbers));
    parallel_sort(numbers, std::greater{}, {}, {.grain = ~std::size_t{0}});
    CHECK(std::ranges::is_sorted(numbers, std::greater{}));
  });
}
