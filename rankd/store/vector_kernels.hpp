// rankd/store/vector_kernels.hpp: products of one vector with a block of others, the same bits on every machine.
#pragma once

#include <array>
#include <cstddef>

namespace rankd {

/// The number of vectors that are interleaved: first the first number of each, then the second of each, and so on.
inline constexpr std::size_t vector_block = 16;

using block_scores = std::array<double, vector_block>;

/// For each vector of a block, computes the sum of its products with `query`, or of the squares of their differences.
/// Each sum is of float64 and goes through the dimensions in order, one lane for each vector, so that no width of
/// registers changes it. Requires `dimensions * vector_block` floats at `block`, aligned as floats.
struct vector_kernels {
  using kernel = void (*)(const float* block, const double* query, std::size_t dimensions, double* out);

  kernel dot;
  kernel squared_distance;
};

/// Returns the kernels for the best instructions of this machine. Threads: any.
[[nodiscard]] auto vector_kernels_here() noexcept -> const vector_kernels&;

}  // namespace rankd
