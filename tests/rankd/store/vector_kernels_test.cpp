// tests/rankd/store/vector_kernels_test.cpp: products of a block, against one number after the other.
#include <rankd/store/vector_kernels.hpp>

#include <doctest/doctest.h>

#include <array>

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
