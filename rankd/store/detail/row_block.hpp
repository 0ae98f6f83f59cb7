// rankd/store/detail/row_block.hpp: copies selected vectors from consecutive rows into a block.
#pragma once

#include <rankd/store/vector_kernels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankd::detail {

/// A block of `vector_block` vectors, whose memory is used again for each call of `gather`.
/// Threads: one at a time. Lifetime: the rows must outlive the block.
class row_block {
 public:
  row_block(const float* rows, std::size_t dimensions)
      : rows_(rows), dimensions_(dimensions), block_(dimensions * vector_block) {}

  /// Copies the rows with these numbers to the beginning of the block, and returns the block. Requires 1 to
  /// `vector_block` vectors.
  /// Lifetime: until the next call.
  auto gather(std::span<const std::uint32_t> numbers) -> const float* {
    std::array<const float*, vector_block> rows{};
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      rows[at] = rows_ + std::size_t{numbers[at]} * dimensions_;
      // Requests the first cache lines of all vectors at the same time. The processor then fetches the following cache
      // lines by itself.
      __builtin_prefetch(rows[at]);
      if (dimensions_ > line) __builtin_prefetch(rows[at] + line);
    }
    vector_kernels_here().interleave(rows.data(), numbers.size(), dimensions_, block_.data());
    return block_.data();
  }

 private:
  static constexpr std::size_t line = 16;  // the number of floats in a cache line

  const float* rows_;
  std::size_t dimensions_;
  std::vector<float> block_;
};

}  // namespace rankd::detail
