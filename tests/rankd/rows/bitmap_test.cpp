// tests/rankd/rows/bitmap_test.cpp: bits in words.
#include <rankd/rows/bitmap.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace rankd;

TEST_CASE("words_for rounds up to whole words") {
  CHECK(words_for(0) == 0);
  CHECK(words_for(1) == 1);
  CHECK(words_for(64) == 1);
  CHECK(words_for(65) == 2);
}

TEST_CASE("low_bits covers none, some and all bits of a word") {
  CHECK(low_bits(0) == 0);
  CHECK(low_bits(1) == 1);
  CHECK(low_bits(63) == ~std::uint64_t{0} >> 1U);
  CHECK(low_bits(64) == ~std::uint64_t{0});
  CHECK(low_bits(1000) == ~std::uint64_t{0});
}

TEST_CASE("a bit that is set and cleared leaves its neighbours alone") {
  std::array<std::uint64_t, 2> words{};
  set_bit(words.data(), 63);
  set_bit(words.data(), 64);
  set_bit(words.data(), 65);
  clear_bit(words.data(), 64);
  CHECK(words == std::array<std::uint64_t, 2>{std::uint64_t{1} << 63U, 2});
  CHECK(test_bit(words.data(), 63));
  CHECK_FALSE(test_bit(words.data(), 64));
}

TEST_CASE("a bitmap without words has every bit") {
  const bitmap all;
  CHECK(all.all_set());
  CHECK(all[0]);
  CHECK(all[1'000'000]);
  CHECK(all.count(65) == 65);
  std::size_t sum = 0;
  all.for_each_set(65, [&sum](std::size_t index) { sum += index; });
  CHECK(sum == 64 * 65 / 2);
}

TEST_CASE("bits behind the last row count for nothing") {
  const std::array<std::uint64_t, 2> words{~std::uint64_t{0}, ~std::uint64_t{0}};
  const bitmap bits(words.data());
  CHECK_FALSE(bits.all_set());
  for (const std::size_t size : {0, 1, 63, 64, 65, 127, 128}) CHECK(bits.count(size) == size);
  std::vector<std::size_t> seen;
  bits.for_each_set(66, [&seen](std::size_t index) { seen.push_back(index); });
  CHECK(seen.size() == 66);
  CHECK(seen.back() == 65);
}

TEST_CASE("set bits are visited in ascending order") {
  const std::array<std::uint64_t, 2> words{(std::uint64_t{1} << 63U) | 5U, 2};
  std::vector<std::size_t> seen;
  bitmap(words.data()).for_each_set(128, [&seen](std::size_t index) { seen.push_back(index); });
  CHECK(seen == std::vector<std::size_t>{0, 2, 63, 65});
}
