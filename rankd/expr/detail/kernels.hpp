// rankd/expr/detail/kernels.hpp: loops over the values of one block, compiled for each set of vector instructions.
#pragma once

#include <rankd/expr/tree.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// Arithmetic of doubles: with two operands up to `pow`, with one from `neg` to `log1p`. There is a kernel for all
/// except pow, exp, log and log1p, which come from the C library.
enum class arithmetic : std::uint8_t {
  add,
  sub,
  mul,
  div,
  min,
  max,
  pow,
  neg,
  abs,
  floor,
  ceil,
  sqrt,
  exp,
  log,
  log1p,
  clamp,
};

inline constexpr std::size_t binary_kernels = 6;
inline constexpr std::size_t unary_kernels = 5;

[[nodiscard]] constexpr auto count_operands(arithmetic operation) noexcept -> std::uint32_t {
  if (operation == arithmetic::clamp) return 3;
  return operation <= arithmetic::pow ? 2 : 1;
}

/// Returns whether the C library computes it, one value at a time.
[[nodiscard]] constexpr auto is_of_library(arithmetic operation) noexcept -> bool {
  return operation == arithmetic::pow || (operation >= arithmetic::exp && operation <= arithmetic::log1p);
}

/// Returns whether a result that is not a finite number is null. The others give what IEEE 754 says.
[[nodiscard]] constexpr auto wants_finite(arithmetic operation) noexcept -> bool {
  return operation > arithmetic::mul && operation != arithmetic::neg;
}

/// Which of two operands have a value for each row, and which have a single value for all of them. If both are single,
/// one row with `each_each` is enough, unless bits choose between them.
enum class shape : std::uint8_t { each_each, each_same, same_each, same_same };

/// The kernels of one set of instructions. All sets return the same bits. No operand overlaps an output, unless said
/// otherwise; operands need no alignment, and nothing is read or written beyond `rows`. Bits after the last row are
/// written as zeros, up to the end of their word.
struct kernel_table {
  std::string_view instructions;  ///< EMU128, SSSE3, SSE4, AVX2, AVX3, …

  using unary = void (*)(double* out, const double* x, std::size_t rows);
  using binary = void (*)(double* out, const double* a, const double* b, std::size_t rows);
  using ternary = void (*)(double* out, const double* x, const double* lo, const double* hi, std::size_t rows);
  std::array<unary, unary_kernels> unaries;                    ///< `neg` to `sqrt`
  std::array<std::array<binary, 3>, binary_kernels> binaries;  ///< `add` to `max`, by `shape`
  std::array<ternary, 8>
      clamps;  ///< indexed by operands: a bit for each, from the first, that is set if it is a single value

  /// Whether the comparison holds; never for a NaN.
  template <typename T>
  using comparer = void (*)(std::uint64_t* out, const T* a, const T* b, std::size_t rows);
  template <typename T>
  using comparers = std::array<std::array<comparer<T>, 2>, 6>;  ///< by `comparison` and `shape`, without `same_each`
  comparers<double> compare_floats;
  comparers<std::int64_t> compare_exacts;

  /// Whether `x` equals one of a few numbers.
  template <typename T>
  using finder = void (*)(std::uint64_t* out, const T* x, const T* list, std::size_t listed, std::size_t rows);
  finder<double> find_float;
  finder<std::int64_t> find_exact;

  /// `a` if its bit is set, otherwise `b`.
  template <typename T>
  using chooser = void (*)(T* out, const std::uint64_t* valid, const T* a, const T* b, std::size_t rows);
  template <typename T>
  using choosers = std::array<chooser<T>, 4>;  ///< by `shape`
  choosers<double> choose_float;
  choosers<std::int64_t> choose_exact;

  /// Converts each integer to the nearest double.
  void (*widen)(double* out, const std::int64_t* in, std::size_t rows);
  /// Makes zero what is not valid.
  void (*drop_invalid)(double* values, const std::uint64_t* valid, std::size_t rows);
  /// Whether all are finite.
  bool (*all_finite)(const double* values, std::size_t rows);
  /// Whether each is finite.
  void (*finite_bits)(std::uint64_t* out, const double* values, std::size_t rows);
  /// Whether the set, a bit for each code in words of 32, has the code. The set has at least one word.
  void (*match_codes)(std::uint64_t* out, const std::uint32_t* codes, const std::uint32_t* set, std::size_t set_words,
                      std::size_t rows);

  template <typename T>
  [[nodiscard]] auto compare() const noexcept -> const comparers<T>&;
  template <typename T>
  [[nodiscard]] auto find() const noexcept -> finder<T>;
  template <typename T>
  [[nodiscard]] auto choose() const noexcept -> const choosers<T>&;
};

/// Returns the kernels of the best instructions of this machine, or of lesser ones that the environment variable
/// RANKD_SIMD names.
auto kernels() noexcept -> const kernel_table&;

/// Returns the names of the instructions that this machine has and that there are kernels for, best first.
auto kernel_instructions() -> std::vector<std::string_view>;

/// While it lives, `kernels()` returns those of these instructions. For tests, on one thread.
class forced_instructions {
 public:
  /// Requires one of `kernel_instructions()`.
  explicit forced_instructions(std::string_view name);
  forced_instructions(const forced_instructions&) = delete;
  auto operator=(const forced_instructions&) -> forced_instructions& = delete;
  ~forced_instructions();
};

template <>
inline auto kernel_table::compare<double>() const noexcept -> const comparers<double>& {
  return compare_floats;
}
template <>
inline auto kernel_table::compare<std::int64_t>() const noexcept -> const comparers<std::int64_t>& {
  return compare_exacts;
}
template <>
inline auto kernel_table::find<double>() const noexcept -> finder<double> {
  return find_float;
}
template <>
inline auto kernel_table::find<std::int64_t>() const noexcept -> finder<std::int64_t> {
  return find_exact;
}
template <>
inline auto kernel_table::choose<double>() const noexcept -> const choosers<double>& {
  return choose_float;
}
template <>
inline auto kernel_table::choose<std::int64_t>() const noexcept -> const choosers<std::int64_t>& {
  return choose_exact;
}

}  // namespace rankd::detail
