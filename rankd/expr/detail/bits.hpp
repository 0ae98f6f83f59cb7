// rankd/expr/detail/bits.hpp: builds a bitmap by testing each row.
#pragma once

#include <rankd/rows/bitmap.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rankd::detail {

/// Sets bit i of `out` to `test(i)` for `rows` rows, and clears the remaining bits of the last word.
template <typename Test>
void write_bits(std::uint64_t* out, std::size_t rows, Test&& test) {
  static_assert(std::endian::native == std::endian::little,
                "bytes are converted to bits only on little-endian machines");
  // The results are first stored as bytes, because compilers can vectorize comparisons whose results are bytes, but not
  // comparisons whose results are bits.
  std::uint8_t bytes[word_bits];
  for (std::size_t first = 0; first < rows; first += word_bits) {
    const std::size_t here = rows - first < word_bits ? rows - first : word_bits;
    if (here < word_bits) std::memset(bytes, 0, word_bits);
    for (std::size_t i = 0; i < here; ++i) bytes[i] = test(first + i) ? 1 : 0;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < word_bits; i += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes + i, 8);
      word |= ((eight * 0x0102040810204080U) >> 56U) << i;  // the lowest bit of each byte, side by side
    }
    out[first / word_bits] = word;
  }
}

}  // namespace rankd::detail
