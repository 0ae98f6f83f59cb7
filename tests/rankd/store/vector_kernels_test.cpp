// tests/rankd/store/vector_kernels_test.cpp: products of a block, against one number after the other.
#include <rankd/store/vector_kernels.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

using namespace rankd;

TEST_CASE("a block has the first number of each vector, then the second of each") {
  std::array<float, 2 * vector_block> block{};
  for (std::size_t place = 0; place < vector_block; ++place) {
    block[place] = static_cast<float>(place);
    block[vector_block + place] = 0.5F;
  }
  const std::array<double, 2> query{3, -1};
  block_scores dot{};
  block_scores distance{};
  vector_kernels_here().dot(block.data(), query.data(), 2, dot.data());
  vector_kernels_here().squared_distance(block.data(), query.data(), 2, distance.data());
  for (std::size_t place = 0; place < vector_block; ++place) {
    const auto number = static_cast<double>(place);
    CHECK(dot[place] == 3 * number - 0.5);
    CHECK(distance[place] == (3 - number) * (3 - number) + 2.25);
  }
}

TEST_CASE("vectors that are stored one after the other are copied into a block, however many and however long") {
  for (const std::size_t dimensions : {1U, 3U, 4U, 7U, 16U, 33U})
    for (std::size_t count = 1; count <= vector_block; ++count) {
      std::vector<float> numbers(count * dimensions);
      for (std::size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<float>(at + 1);
      std::vector<const float*> rows;
      for (std::size_t row = 0; row < count; ++row) rows.push_back(numbers.data() + row * dimensions);
      std::vector<float> block(dimensions * vector_block, -1);
      vector_kernels_here().interleave(rows.data(), count, dimensions, block.data());
      std::size_t right = 0;
      for (std::size_t row = 0; row < count; ++row)
        for (std::size_t at = 0; at < dimensions; ++at)
          right += block[at * vector_block + row] == numbers[row * dimensions + at] ? 1 : 0;
      CHECK(right == numbers.size());
      if (count <= 12) CHECK(block[vector_block - 1] == -1);
    }
}
