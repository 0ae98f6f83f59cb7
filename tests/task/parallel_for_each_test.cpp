// tests/task/parallel_for_each_test.cpp: each element is met once, through its projection.
#include <braid/task/parallel.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <ranges>
#include <stdexcept>
#include <vector>

using braid::errc;
using braid::parallel_for_each;
using braid::pool;
using braid::relaxed;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

struct entry {
  int value = 1;
};

}  // namespace

TEST_CASE_FIXTURE(watched, "eight times eight nested elements on two workers are sixty-four bodies") {
  pool where({.workers = 2});
  for (int round = 0; round < 50; ++round) {
    braid::atomic<int> bodies{0};
    const auto eight = std::views::iota(0, 8);
    run_in(where, [&] {
      parallel_for_each(eight, [&](int) { parallel_for_each(eight, [&](int) { bodies.fetch_add(1, relaxed); }); });
    });
    CHECK(bodies.load(relaxed) == 64);
  }
}

TEST_CASE_FIXTURE(watched, "elements are changed in place, by range and by pair, with a projection or without") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::deque<entry> all(5000);
    parallel_for_each(all, [](entry& each) { ++each.value; });
    parallel_for_each(all, [](int& value) { value *= 10; }, &entry::value);
    parallel_for_each(all, [](entry& each) { each.value -= 5; }, {.grain = 1});
    const braid::parallel_options coarse{.grain = 100};
    parallel_for_each(all, [](entry& each) { each.value += 5; }, coarse);
    parallel_for_each(all.begin() + 1, all.end(), [](entry& each) { ++each.value; });
    parallel_for_each(all.begin(), all.end(), [](int& value) { value += 2; }, &entry::value, {.grain = 3});
    CHECK(all.front().value == 22);
    CHECK(std::ranges::all_of(all | std::views::drop(1), [](const entry& each) { return each.value == 23; }));
  });
}

TEST_CASE_FIXTURE(watched, "ranges without random access or a size are visited once, element by element") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::list<entry> all(3000);
    parallel_for_each(all, [](entry& each) { ++each.value; });
    parallel_for_each(all, [](int& value) { value *= 10; }, &entry::value);
    parallel_for_each(all, [](entry& each) { each.value -= 5; }, {.grain = 1});
    CHECK(std::ranges::all_of(all, [](const entry& each) { return each.value == 15; }));
    std::map<int, int> squares;
    for (int i = 0; i < 100; ++i) squares[i] = 0;
    parallel_for_each(squares, [](auto& each) { each.second = each.first * each.first; });
    CHECK(std::ranges::all_of(squares, [](const auto& each) { return each.second == each.first * each.first; }));
    std::vector<int> numbers(1000, 1);
    numbers[500] = 2;
    parallel_for_each(numbers | std::views::filter([](int each) { return each == 1; }), [](int& each) { each = 7; });
    CHECK(std::ranges::count(numbers, 7) == 999);
    const std::forward_list<int> none;
    parallel_for_each(none, [](int) { FAIL("there is no element"); });
    braid::stop_flag flag;
    CHECK(parallel_for_each(flag, all, [](entry& each) { each.value = 3; }));
    CHECK(parallel_for_each(flag, all, [](int& value) { value += 1; }, &entry::value));
    CHECK(parallel_for_each(flag, all, [](entry& each) { each.value += 1; }, {.grain = 7}));
    flag.request(errc::stopped);
    CHECK(parallel_for_each(flag, all, [](entry& each) { each.value = 0; }) == braid::fail(errc::stopped));
    CHECK(std::ranges::all_of(all, [](const entry& each) { return each.value == 5; }));
    CHECK_THROWS_WITH(parallel_for_each(all, [](entry&) { throw std::runtime_error("an element"); }), "an element");
  });
}

TEST_CASE_FIXTURE(watched, "what an element throws arrives, and a stop is told") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::vector<int> all(1000, 1);
    CHECK_THROWS_WITH(parallel_for_each(all, [](int) { throw std::runtime_error("an element"); }), "an element");
    braid::stop_flag flag;
    CHECK(parallel_for_each(flag, all, [](int& each) { each = 2; }));
    CHECK(parallel_for_each(flag, all, [](int& each) { each = 1; }, {.grain = 1}));
    CHECK(std::ranges::count(all, 1) == std::ssize(all));
    CHECK(parallel_for_each(flag, all.begin(), all.end(), [](int& each) { each = 3; }));
    flag.request(errc::stopped);
    CHECK(parallel_for_each(flag, all, [](int& each) { each = 4; }) == braid::fail(errc::stopped));
    CHECK(parallel_for_each(flag, all.begin(), all.end(), [](int& each) { each = 5; }) == braid::fail(errc::stopped));
    CHECK(std::ranges::count(all, 3) == 1000);
  });
}
