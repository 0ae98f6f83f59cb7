// tests/task/parallel_algorithms_test.cpp: the algorithms give what those of std::ranges give, whatever the division.
#include <braid/task/parallel_algorithms.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using braid::errc;
using braid::parallel_all_of;
using braid::parallel_any_of;
using braid::parallel_copy_if;
using braid::parallel_count_if;
using braid::parallel_find_if;
using braid::parallel_max_element;
using braid::parallel_merge;
using braid::parallel_min_element;
using braid::parallel_none_of;
using braid::parallel_nth_element;
using braid::parallel_options;
using braid::parallel_partition;
using braid::parallel_transform;
using braid::parallel_unique;
using braid::pool;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{200s};
};

/// Larger than what divisions copy; equal by its key alone.
struct row {
  int key;
  std::size_t place;
  std::string text;
  auto operator==(const row&) const -> bool = default;
};

/// Inputs of up to some hundred elements, each with a grain of its own.
struct input {
  std::vector<int> numbers;
  std::vector<row> rows;
  int keys;
  parallel_options how;
};

auto any_input(braid::random_source& random) -> input {
  constexpr std::array<std::size_t, 4> grains{0, 1, 64, 100};
  input made{.numbers = {}, .rows = {}, .keys = 1 + static_cast<int>(random.below(40)), .how = {}};
  made.how.grain = grains[random.below(grains.size())];
  const std::size_t count = random.below(random.below(10) == 0 ? 2000 : 400);
  for (std::size_t i = 0; i < count; ++i) {
    made.numbers.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(made.keys))));
    made.rows.push_back({.key = made.numbers.back(), .place = i, .text = std::to_string(i)});
  }
  return made;
}

/// Calls `check(input)` for a thousand of them, on a pool of three workers.
template <typename Check>
void for_many(std::uint64_t seed, const Check& check) {
  pool where({.workers = 3});
  run_in(where, [&] {
    braid::random_source random(seed);
    for (int round = 0; round < 1000; ++round) {
      CAPTURE(round);
      check(any_input(random));
    }
  });
}

auto sorted_by_place(std::vector<row> all) -> std::vector<row> {
  std::ranges::sort(all, {}, &row::place);
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(watched, "transformed elements are those of a loop, in place, too") {
  for_many(1, [](input given) {
    std::vector<long> expected(given.rows.size());
    const auto twice = [](int key) { return 2L * key; };
    std::ranges::transform(given.rows, expected.begin(), twice, &row::key);
    std::vector<long> out(given.rows.size());
    REQUIRE(parallel_transform(given.rows, out.begin(), twice, &row::key, given.how) == out.end());
    REQUIRE(out == expected);
    REQUIRE(parallel_transform(out, out.begin(), std::negate{}, {}, given.how) == out.end());
    std::ranges::transform(expected, expected.begin(), std::negate{});
    REQUIRE(out == expected);
  });
}

TEST_CASE_FIXTURE(watched, "a search finds the first, and questions about all have the answer of a loop") {
  for_many(2, [](const input& given) {
    for (const int wanted : {0, given.keys - 1, given.keys}) {
      const auto is_wanted = [wanted](int key) { return key == wanted; };
      const auto found = parallel_find_if(given.rows, is_wanted, &row::key, given.how);
      REQUIRE(found - given.rows.begin() ==
              std::ranges::find_if(given.rows, is_wanted, &row::key) - given.rows.begin());
      REQUIRE(parallel_count_if(given.rows, is_wanted, &row::key, given.how) ==
              std::ranges::count_if(given.rows, is_wanted, &row::key));
      const auto is_at_least = [wanted](int key) { return key >= wanted; };
      REQUIRE(parallel_any_of(given.numbers, is_wanted, {}, given.how) ==
              std::ranges::any_of(given.numbers, is_wanted));
      REQUIRE(parallel_none_of(given.numbers, is_wanted, {}, given.how) ==
              std::ranges::none_of(given.numbers, is_wanted));
      REQUIRE(parallel_all_of(given.numbers, is_at_least, {}, given.how) ==
              std::ranges::all_of(given.numbers, is_at_least));
    }
  });
}

TEST_CASE_FIXTURE(watched, "of the least and of the greatest the first is found") {
  for_many(3, [](const input& given) {
    const auto begin = given.rows.begin();
    REQUIRE(parallel_min_element(given.rows, {}, &row::key, given.how) - begin ==
            std::ranges::min_element(given.rows, {}, &row::key) - begin);
    REQUIRE(parallel_max_element(given.rows, {}, &row::key, given.how) - begin ==
            std::ranges::max_element(given.rows, {}, &row::key) - begin);
    REQUIRE(parallel_max_element(given.rows, std::greater{}, &row::key, given.how) - begin ==
            std::ranges::min_element(given.rows, {}, &row::key) - begin);
  });
}

TEST_CASE_FIXTURE(watched, "what is copied is what a loop copies, in its order") {
  for_many(4, [](const input& given) {
    const auto is_wanted = [half = given.keys / 2](int key) { return key >= half; };
    std::vector<row> expected;
    std::ranges::copy_if(given.rows, std::back_inserter(expected), is_wanted, &row::key);
    std::vector<row> out(given.rows.size());
    const auto end = parallel_copy_if(given.rows, out.begin(), is_wanted, &row::key, given.how);
    REQUIRE(end - out.begin() == static_cast<std::ptrdiff_t>(expected.size()));
    REQUIRE(std::all_of(end, out.end(), [](const row& each) { return each.text.empty(); }));
    out.erase(end, out.end());
    REQUIRE(out == expected);
  });
}

TEST_CASE_FIXTURE(watched, "merged ranges are in order, equals of the first before those of the second") {
  for_many(5, [](input given) {
    const std::size_t cut =
        given.rows.empty() ? 0 : static_cast<std::size_t>(given.rows[0].key) * 10 % given.rows.size();
    const auto middle = given.rows.begin() + static_cast<std::ptrdiff_t>(cut);
    const auto order = [](const row& each) { return std::pair(-each.key, each.place); };
    std::ranges::sort(given.rows.begin(), middle, {}, order);
    std::ranges::sort(middle, given.rows.end(), {}, order);
    const std::ranges::subrange first(given.rows.begin(), middle);
    const std::ranges::subrange second(middle, given.rows.end());
    std::vector<row> expected(given.rows.size());
    std::ranges::merge(first, second, expected.begin(), std::greater{}, &row::key, &row::key);
    std::vector<row> out(given.rows.size());
    REQUIRE(parallel_merge(first, second, out.begin(), std::greater{}, &row::key, &row::key, given.how) == out.end());
    REQUIRE(out == expected);
  });
}

TEST_CASE_FIXTURE(watched, "a partition divides, and loses nothing") {
  for_many(6, [](input given) {
    const auto belongs = [half = given.keys / 2](int key) { return key < half; };
    const auto wanted = std::ranges::count_if(given.numbers, belongs);
    const auto before = given.rows;
    const auto middle = parallel_partition(given.rows, belongs, &row::key, given.how);
    REQUIRE(middle - given.rows.begin() == wanted);
    REQUIRE(std::ranges::is_partitioned(given.rows, belongs, &row::key));
    REQUIRE(sorted_by_place(given.rows) == before);

    auto numbers = given.numbers;
    REQUIRE(parallel_partition(numbers, belongs, {}, given.how) - numbers.begin() == wanted);
    REQUIRE(std::ranges::is_partitioned(numbers, belongs));
    REQUIRE(std::ranges::is_permutation(numbers, given.numbers));
  });
}

TEST_CASE_FIXTURE(watched, "of equal neighbours the first stays") {
  for_many(7, [](input given) {
    for (row& each : given.rows) each.key /= 7;  // so that there are runs
    auto expected = given.rows;
    const auto [end, last] = std::ranges::unique(expected, {}, &row::key);
    expected.erase(end, last);
    given.rows.erase(parallel_unique(given.rows, {}, &row::key, given.how), given.rows.end());
    REQUIRE(given.rows == expected);

    for (int& each : given.numbers) each /= 7;
    auto numbers = given.numbers;
    const auto [end_of_numbers, last_of_numbers] = std::ranges::unique(numbers);
    numbers.erase(end_of_numbers, last_of_numbers);
    given.numbers.erase(parallel_unique(given.numbers, {}, {}, given.how), given.numbers.end());
    REQUIRE(given.numbers == numbers);
  });
}

TEST_CASE_FIXTURE(watched, "the element at a place is that of the sorted range, and divides the others") {
  pool where({.workers = 3});
  braid::random_source random(8);
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const std::size_t count = 1 + random.below(round % 100 == 0 ? 100'000 : 300);
    const std::uint64_t keys = 1 + random.below(round % 3 == 0 ? 4 : 1'000'000);
    std::vector<std::uint64_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = round % 7 == 0 ? i % keys : random.below(keys);
    const auto nth = static_cast<std::ptrdiff_t>(round % 200 == 100 ? count - 1 : random.below(count));
    auto expected = all;
    std::ranges::nth_element(expected, expected.begin() + nth, std::greater{});
    const std::uint64_t sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    run_in(where, [&] { parallel_nth_element(all, all.begin() + nth, std::greater{}); });
    const std::uint64_t at_place = all[static_cast<std::size_t>(nth)];
    REQUIRE(at_place == expected[static_cast<std::size_t>(nth)]);
    REQUIRE(std::all_of(all.begin(), all.begin() + nth, [&](std::uint64_t each) { return each >= at_place; }));
    REQUIRE(std::all_of(all.begin() + nth, all.end(), [&](std::uint64_t each) { return each <= at_place; }));
    REQUIRE(std::accumulate(all.begin(), all.end(), std::uint64_t{0}) == sum);
  }
}

TEST_CASE_FIXTURE(watched,
                  "elements that can only be moved are divided, selected and made unique, outside of a pool, too") {
  const auto value = [](const std::unique_ptr<int>& each) { return *each; };
  std::vector<std::unique_ptr<int>> all;
  for (int i = 0; i < 40'000; ++i) all.push_back(std::make_unique<int>(i * 7919 % 20'000));
  parallel_nth_element(all, all.begin() + 5000, {}, value);
  CHECK(*all[5000] == 2500);
  const auto middle = parallel_partition(all, [](int each) { return each < 100; }, value);
  CHECK(middle - all.begin() == 200);
  std::ranges::sort(all, {}, value);
  const auto end = parallel_unique(all, {}, value);
  REQUIRE(end - all.begin() == 20'000);
  for (int i = 0; i < 20'000; ++i) REQUIRE(*all[static_cast<std::size_t>(i)] == i);
  CHECK(*parallel_max_element(std::ranges::subrange(all.begin(), end), {}, value)->get() == 19'999);
}

TEST_CASE_FIXTURE(watched, "what a function throws arrives, and a partition loses nothing by it") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<int> all(10'000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    const auto throws = [](int each) -> bool {
      if (each == 7777) throw std::runtime_error("a predicate");
      return each % 2 == 0;
    };
    const auto order = [](int, int) -> bool { throw std::runtime_error("a comparison"); };
    std::vector<int> out(all.size());
    CHECK_THROWS_WITH(parallel_transform(all, out.begin(), throws), "a predicate");
    CHECK_THROWS_WITH(std::ignore = parallel_count_if(all, throws), "a predicate");
    CHECK_THROWS_WITH(std::ignore = parallel_find_if(all, [&](int each) { return throws(each) && each < 0; }),
                      "a predicate");
    CHECK_THROWS_WITH(parallel_copy_if(all, out.begin(), throws), "a predicate");
    CHECK_THROWS_WITH(std::ignore = parallel_min_element(all, order), "a comparison");
    CHECK_THROWS_WITH(parallel_merge(all, all, std::vector<int>(20'000).begin(), order), "a comparison");
    CHECK_THROWS_WITH(parallel_nth_element(all, all.begin() + 5, order), "a comparison");
    std::ranges::sort(all);
    CHECK_THROWS_WITH(parallel_partition(all, throws), "a predicate");
    std::ranges::sort(all);
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<int>(i));
  });
}

TEST_CASE_FIXTURE(watched, "a predicate is called once for each element that may be copied") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<int> all(5000, 1);
    std::vector<int> out(all.size());
    braid::atomic<std::size_t> calls{0};
    parallel_copy_if(all, out.begin(), [&](int) { return calls.fetch_add(1, braid::relaxed) % 2 == 0; });
    CHECK(calls.load(braid::relaxed) == all.size());
  });
}

TEST_CASE_FIXTURE(watched, "an element that was found ends a search") {
  pool where({.workers = 1});
  run_in(where, [] {
    std::vector<int> all(100'000, 1);
    std::size_t calls = 0;
    const auto is_one = [&calls](int each) { return ++calls != 0 && each == 1; };
    CHECK(parallel_find_if(all, is_one) == all.begin());
    CHECK(parallel_any_of(all, is_one));
    CHECK_FALSE(parallel_none_of(all, is_one));
    CHECK(calls == 3);
  });
}

TEST_CASE_FIXTURE(watched, "a stopped run says so") {
  pool where({.workers = 2});
  run_in(where, [] {
    braid::stop_flag flag;
    std::vector<int> all(10'000, 3);
    std::vector<int> out(2 * all.size());
    const auto is_three = [](int each) { return each == 3; };
    const auto run_all = [&](const auto& check) {
      check(parallel_transform(flag, all, out.begin(), std::negate{}), out.begin() + 10'000);
      check(parallel_find_if(flag, all, is_three), all.begin());
      check(parallel_any_of(flag, all, is_three), true);
      check(parallel_all_of(flag, all, is_three), true);
      check(parallel_none_of(flag, all, is_three), false);
      check(parallel_count_if(flag, all, is_three), 10'000);
      check(parallel_min_element(flag, all), all.begin());
      check(parallel_max_element(flag, all), all.begin());
      check(parallel_copy_if(flag, all, out.begin(), is_three), out.begin() + 10'000);
      check(parallel_merge(flag, all, all, out.begin()), out.end());
      check(parallel_partition(flag, all, is_three), all.end());
    };
    run_all([](const auto& got, const auto& expected) { CHECK((got.has_value() && *got == expected)); });
    CHECK(parallel_nth_element(flag, all, all.begin() + 5000));
    CHECK(parallel_unique(flag, all) == all.begin() + 1);
    all.assign(20'000, 3);
    flag.request(errc::deadline_exceeded);
    run_all([](const auto& got, const auto&) { CHECK((!got.has_value() && got.error() == errc::deadline_exceeded)); });
    CHECK(parallel_nth_element(flag, all, all.begin() + 5000) == braid::fail(errc::deadline_exceeded));
    CHECK(parallel_unique(flag, all) == braid::fail(errc::deadline_exceeded));
    CHECK(std::ranges::all_of(all, is_three));
  });
}

TEST_CASE_FIXTURE(watched, "ranges without elements, and places at the end, are taken") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<int> none;
    CHECK(parallel_transform(none, none.begin(), std::negate{}) == none.end());
    CHECK(parallel_find_if(none, [](int) { return true; }) == none.end());
    CHECK(parallel_all_of(none, [](int) { return false; }));
    CHECK_FALSE(parallel_any_of(none, [](int) { return true; }));
    CHECK(parallel_min_element(none) == none.end());
    CHECK(parallel_unique(none) == none.end());
    CHECK(parallel_merge(none, none, none.begin()) == none.end());
    parallel_nth_element(none, none.end());
    std::vector<int> some{3, 1, 2};
    parallel_nth_element(some, some.end());
    CHECK(some == std::vector{3, 1, 2});
  });
}

TEST_CASE_FIXTURE(watched, "the example of the documentation does what it says") {
  struct city {
    int id;
    double distance;
  };
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<city> cities;
    for (int i = 0; i < 1000; ++i) cities.push_back({.id = i, .distance = i * 7919 % 1000 / 10.0});
    // clang-format off: a page shows these lines
    // [example]
    const auto is_near = [](double distance) { return distance < 10; };
    const city nearest =
        *braid::parallel_min_element(cities, {}, &city::distance);
    const auto first =
        braid::parallel_find_if(cities, is_near, &city::distance);

    std::vector<city> near(cities.size());
    near.erase(
        braid::parallel_copy_if(cities, near.begin(), is_near, &city::distance),
        near.end());

    const auto median = cities.begin() + 500;
    braid::parallel_nth_element(cities, median, {}, &city::distance);
    // [/example]
    // clang-format on
    CHECK(nearest.id == 0);
    CHECK(first == cities.begin());
    CHECK(near.size() == 100);
    CHECK(median->distance == 50.0);
  });
}
