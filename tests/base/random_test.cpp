// tests/base/random_test.cpp: the sequence is that of SplitMix64, and its derived numbers stay in their bounds.
#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using braid::random_source;

namespace {

constexpr std::uint64_t max_value = std::numeric_limits<std::uint64_t>::max();

auto first_four(std::uint64_t seed) -> std::array<std::uint64_t, 4> {
  random_source numbers(seed);
  return {numbers(), numbers(), numbers(), numbers()};
}

}  // namespace

TEST_CASE("the sequence is the published one") {
  using four = std::array<std::uint64_t, 4>;
  CHECK(first_four(0) == four{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec});
  CHECK(first_four(1234567) == four{0x599ed017fb08fc85, 0x2c73f08458540fa5, 0x883ebce5a3f27c77, 0x3fbef740e9177b3f});
  CHECK(first_four(max_value) == four{0xe4d971771b652c20, 0xe99ff867dbf682c9, 0x382ff84cb27281e9, 0x6d1db36ccba982d2});
}

TEST_CASE("the sequence can be computed at compile time") {
  constexpr std::uint64_t first = [] {
    random_source numbers(0);
    return numbers();
  }();
  static_assert(first == 0xe220a8397b1dcdaf);
  CHECK(random_source(0)() == first);
}

TEST_CASE("numbers below a bound are the upper part of number times bound") {
  random_source numbers(0);
  std::vector<std::uint64_t> dice;
  for (int i = 0; i < 8; ++i) dice.push_back(numbers.below(6));
  CHECK(dice == std::vector<std::uint64_t>{5, 2, 0, 5, 0, 1, 1, 4});
}

TEST_CASE("a number below a bound is below it, for small and for huge bounds") {
  random_source numbers(7);
  for (const std::uint64_t bound :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 63U, max_value})
    for (int i = 0; i < 1000; ++i) REQUIRE(numbers.below(bound) < bound);
}

TEST_CASE("every number below a small bound turns up about equally often") {
  random_source numbers(11);
  std::array<int, 10> seen{};
  for (int i = 0; i < 10'000; ++i) ++seen[numbers.below(10)];
  for (const int count : seen) {
    CHECK(count > 850);
    CHECK(count < 1150);
  }
}

TEST_CASE("fractions lie in the unit interval without its upper end, and reach both halves") {
  random_source numbers(3);
  double lowest = 1;
  double highest = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double fraction = numbers.unit();
    REQUIRE(fraction >= 0);
    REQUIRE(fraction < 1);
    lowest = std::min(lowest, fraction);
    highest = std::max(highest, fraction);
  }
  CHECK(lowest < 0.01);
  CHECK(highest > 0.99);
}

TEST_CASE("standard algorithms accept it as a generator") {
  static_assert(std::uniform_random_bit_generator<random_source>);
  CHECK(random_source::min() == 0);
  CHECK(random_source::max() == max_value);
  std::vector<int> cards(52);
  std::iota(cards.begin(), cards.end(), 0);
  const std::vector<int> sorted = cards;
  random_source numbers(5);
  std::shuffle(cards.begin(), cards.end(), numbers);
  CHECK(cards != sorted);
  CHECK(std::is_permutation(cards.begin(), cards.end(), sorted.begin()));
}
