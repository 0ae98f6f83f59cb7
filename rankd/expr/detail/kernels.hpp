// rankd/expr/detail/kernels.hpp: loops over the values of one block, in shapes that compilers vectorise.
#pragma once

#include <rankd/expr/tree.hpp>
#include <rankd/rows/bitmap.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rankd::detail {

/// The values of one operand: one for each row of a block, or a single one that holds for all of them.
template <typename T>
struct operand {
  const T* values = nullptr;
  bool uniform = false;
};

/// A uniform operand in the form of an array.
template <typename T>
struct same_value {
  T value;
  auto operator[](std::size_t /*row*/) const noexcept -> T { return value; }
};

/// Calls `loop(a, b)` with each operand as something to index; at most one of them is a single value, so that no
/// loop is compiled for a result that does not vary (it has one row, whatever the operands call themselves).
template <typename A, typename B, typename Loop>
void with_shapes(operand<A> a, operand<B> b, Loop&& loop) {
  if (a.uniform == b.uniform) {
    loop(a.values, b.values);
  } else if (b.uniform) {
    loop(a.values, same_value<B>{*b.values});
  } else {
    loop(same_value<A>{*a.values}, b.values);
  }
}

/// Computes `rows` results from as many operands as the op has. `out` overlaps no operand. Where every operand is
/// uniform, `rows` is 1.
using value_kernel = void (*)(double* out, const operand<double>* in, std::size_t rows);

template <typename Fn>
void unary_kernel(double* __restrict out, const operand<double>* in, std::size_t rows) {
  const double* __restrict x = in[0].values;
  for (std::size_t i = 0; i < rows; ++i) out[i] = Fn{}(x[i]);
}

template <typename Fn>
void binary_kernel(double* __restrict out, const operand<double>* in, std::size_t rows) {
  with_shapes(in[0], in[1], [out, rows](auto a, auto b) {
    double* __restrict to = out;
    for (std::size_t i = 0; i < rows; ++i) to[i] = Fn{}(a[i], b[i]);
  });
}

/// `a` where the lowest bit of `bit` is set, otherwise `b`, without a branch: nulls are rarely predictable.
template <typename T>
[[nodiscard]] auto select(std::uint64_t bit, T a, T b) noexcept -> T {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  const std::uint64_t mask = 0 - (bit & 1U);
  return std::bit_cast<T>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

/// Sets bit i of `out` to `test(i)` for `rows` rows, and the bits behind them in the last word to zero.
template <typename Test>
void write_bits(std::uint64_t* out, std::size_t rows, Test&& test) {
  static_assert(std::endian::native == std::endian::little, "bytes become bits in the order of little-endian words");
  // Bytes first: compilers vectorise comparisons into bytes, but not into bits.
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

/// Writes for each row whether the comparison of its two operands holds. Where both are uniform, `rows` is 1.
template <typename A, typename B>
using compare_kernel = void (*)(std::uint64_t* out, operand<A> a, operand<B> b, std::size_t rows);

/// The kernel of a comparison, for two numbers of type double, two of type int64, or an int64 and a double. All are
/// exact; none holds for a NaN.
template <typename A, typename B>
auto kernel_of(comparison how) noexcept -> compare_kernel<A, B>;

extern template auto kernel_of<double, double>(comparison how) noexcept -> compare_kernel<double, double>;
extern template auto kernel_of<std::int64_t, std::int64_t>(comparison how) noexcept
    -> compare_kernel<std::int64_t, std::int64_t>;
extern template auto kernel_of<std::int64_t, double>(comparison how) noexcept -> compare_kernel<std::int64_t, double>;

/// The comparison that holds for (b, a) when `how` holds for (a, b).
[[nodiscard]] auto mirrored(comparison how) noexcept -> comparison;

}  // namespace rankd::detail
