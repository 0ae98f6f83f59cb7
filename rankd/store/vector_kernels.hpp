// rankd/store/vector_kernels.hpp: products of one vector with a block of vectors, bit for bit the same on every
// machine.
#pragma once

#include <array>
#include <cstddef>

namespace rankd {

/// The number of vectors in a block. The elements of these vectors are interleaved: element 0 of each vector, then
/// element 1 of each vector, and so on.
inline constexpr std::size_t vector_block = 16;

using block_scores = std::array<double, vector_block>;

/// For each vector of a block, computes its dot product with `query`, or the squared distance to it. Each vector has
/// its own lane, in which a float64 sum adds the dimensions in order. So the result does not depend on the width of the
/// registers. Requires `dimensions * vector_block` floats at `block`, aligned as floats.
struct vector_kernels {
  using kernel = void (*)(const float* block, const double* query, std::size_t dimensions, double* out);

  kernel dot;
  kernel squared_distance;

  /// Copies rows to the beginning of a block. Each row is a vector whose elements are contiguous. Some of the following
  /// positions in the block are overwritten, too. Requires 1 to `vector_block` rows.
  void (*interleave)(const float* const* rows, std::size_t count, std::size_t dimensions, float* block);
};

/// Returns the kernels for the best instruction set of this machine. Threads: any.
[[nodiscard]] auto vector_kernels_here() noexcept -> const vector_kernels&;

}  // namespace rankd
