// tests/coro/generator_test.cpp: sequences that are made while they are read.
#include <braid/coro/generator.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/stack_extent.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;

static_assert(std::ranges::input_range<generator<int>>);
static_assert(std::ranges::view<generator<int>>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<int>>, int&&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<const std::string&>>, const std::string&>);
static_assert(std::same_as<std::ranges::range_value_t<generator<const std::string&>>, std::string>);

namespace {

auto count_to(int last) -> generator<int> {
  for (int i = 1; i <= last; ++i) co_yield i;
}

auto nothing() -> generator<int> { co_return; }

auto hold(mortal /*held*/) -> generator<int> {
  co_yield 1;
  co_yield 2;
}

auto countdown(int from) -> generator<int> {
  co_yield from;
  if (from > 0) co_yield elements_of(countdown(from - 1));
}

auto fail_after(int count) -> generator<int> {
  for (int i = 0; i < count; ++i) co_yield i;
  throw std::runtime_error("no more");
}

template <typename Ref>
auto all_of(generator<Ref> from) {
  std::vector<std::remove_cvref_t<Ref>> all;
  for (auto&& one : from) all.push_back(std::forward<decltype(one)>(one));
  return all;
}

}  // namespace

TEST_CASE("the elements come in order, and none from a coroutine that yields none") {
  CHECK(all_of(count_to(4)) == std::vector{1, 2, 3, 4});
  CHECK(all_of(nothing()).empty());
}

TEST_CASE("nothing runs before begin, and nothing beyond what is read") {
  int made = 0;
  auto make = [&]() -> generator<int> {
    while (true) co_yield ++made;
  };
  generator<int> endless = make();
  CHECK(made == 0);
  auto at = endless.begin();
  CHECK(made == 1);
  CHECK(*at == 1);
  ++at;
  CHECK(made == 2);
}

TEST_CASE("it composes with the views of the standard library") {
  auto even = [](int n) { return n % 2 == 0; };
  auto endless = []() -> generator<int> {
    for (int i = 0;; ++i) co_yield i;
  };
  std::vector<int> seen;
  auto chosen = endless() | std::views::filter(even) | std::views::take(3);
  for (const int n : chosen) seen.push_back(n);
  CHECK(seen == std::vector{0, 2, 4});
}

TEST_CASE("move-only elements, references to elements and copies of lvalues are yielded") {
  auto pointers = []() -> generator<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(1);
    auto second = std::make_unique<int>(2);
    co_yield std::move(second);
  };
  const auto taken = all_of(pointers());
  REQUIRE(taken.size() == 2);
  CHECK(*taken[1] == 2);

  std::vector<int> numbers{1, 2, 3};
  auto each = [&]() -> generator<int&> {
    for (int& n : numbers) co_yield n;
  };
  auto every = each();
  for (int& n : every) n *= 10;
  CHECK(numbers == std::vector{10, 20, 30});

  auto twice = []() -> generator<std::string> {
    const std::string kept = "kept";
    co_yield kept;
    co_yield kept;
  };
  CHECK(all_of(twice()) == std::vector<std::string>{"kept", "kept"});
}

TEST_CASE("a generator that is left in the middle destroys what it holds") {
  deaths seen;
  {
    generator<int> left = hold(mortal(seen));
    auto at = left.begin();
    CHECK(*at == 1);
    CHECK(seen.count == 0);
  }
  CHECK(seen.count == 1);
  { const generator<int> unread = hold(mortal(seen)); }
  CHECK(seen.count == 2);
  generator<int> first = hold(mortal(seen));
  first = hold(mortal(seen));
  CHECK(seen.count == 3);
}

TEST_CASE("what the coroutine throws leaves the increment, and then the sequence has ended") {
  generator<int> failing = fail_after(2);
  auto at = failing.begin();
  ++at;
  CHECK(*at == 1);
  CHECK_THROWS_WITH(++at, "no more");
  CHECK(at == std::default_sentinel);
  auto at_once = fail_after(0);
  CHECK_THROWS_WITH(static_cast<void>(at_once.begin()), "no more");
}

TEST_CASE("the elements of generators and ranges inside of a generator come in their place") {
  auto outer = []() -> generator<int> {
    co_yield 0;
    co_yield elements_of(count_to(2));
    co_yield elements_of(nothing());
    co_yield elements_of(std::views::iota(7, 9));
    co_yield 9;
  };
  CHECK(all_of(outer()) == std::vector{0, 1, 2, 7, 8, 9});
}

TEST_CASE("an exception of an inner generator can be caught by the outer one") {
  auto outer = []() -> generator<int> {
    bool caught = false;
    try {
      co_yield elements_of(fail_after(1));
    } catch (const std::runtime_error&) {
      caught = true;
    }
    co_yield caught ? 100 : 200;
  };
  CHECK(all_of(outer()) == std::vector{0, 100});
  auto passed_on = []() -> generator<int> { co_yield elements_of(fail_after(0)); };
  auto failing = passed_on();
  CHECK_THROWS_WITH(static_cast<void>(failing.begin()), "no more");
}

TEST_CASE("ten thousand levels of nesting and a million empty generators in a row do not use the stack") {
  std::int64_t sum = 0;
  auto deep = countdown(10'000);
  for (const int n : deep) sum += n;
  CHECK(sum == 50'005'000);

  testing::stack_extent extent;
  auto marked = [&](int round) -> generator<int> {
    if (round == 0 || round == 999'999) extent.mark();
    co_return;
  };
  auto empties = [&]() -> generator<int> {
    for (int i = 0; i < 1'000'000; ++i) co_yield elements_of(marked(i));
  };
  CHECK(all_of(empties()).empty());
  CHECK(extent.marks() == 2);
  CHECK(extent.bytes() < 4096);
}
