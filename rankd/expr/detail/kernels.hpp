// rankd/expr/detail/kernels.hpp: loops over the values of one block, compiled for each supported set of vector
// instructions.
#pragma once

#include <rankd/expr/tree.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// Arithmetic operations on doubles. The operations from `add` to `pow` have two operands, those from `neg` to `log1p`
/// have one operand, and `clamp` has three. pow, exp, log and log1p have no kernel and use the C library.
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

/// Returns whether the C library computes the operation, one value at a time.
[[nodiscard]] constexpr auto is_of_library(arithmetic operation) noexcept -> bool {
  return operation == arithmetic::pow || (operation >= arithmetic::exp && operation <= arithmetic::log1p);
}

/// Returns whether an infinite or NaN result of the operation becomes null. Other operations keep such a result, as in
/// IEEE 754.
[[nodiscard]] constexpr auto wants_finite(arithmetic operation) noexcept -> bool {
  return operation > arithmetic::mul && operation != arithmetic::neg;
}

/// States whether each of two operands has a value for each row or a single value for all rows. If both have a single
/// value, it is enough to call the kernel for `each_each` with one row. Only the choosers need a kernel for
/// `same_same`, because each row has its own bit.
enum class shape : std::uint8_t { each_each, each_same, same_each, same_same };

/// The kernels for one set of vector instructions. The results have the same bits for all sets. Operands and outputs
/// must not overlap, unless a comment allows it. Operands need no alignment. A kernel reads and writes nothing beyond
/// `rows` rows, except that it clears the unused bits of the last output word.
struct kernel_table {
  std::string_view instructions;  ///< EMU128, SSSE3, SSE4, AVX2, AVX3, …

  using unary = void (*)(double* out, const double* x, std::size_t rows);
  using binary = void (*)(double* out, const double* a, const double* b, std::size_t rows);
  using ternary = void (*)(double* out, const double* x, const double* lo, const double* hi, std::size_t rows);
  std::array<unary, unary_kernels> unaries;                    ///< `neg` to `sqrt`
  std::array<std::array<binary, 3>, binary_kernels> binaries;  ///< `add` to `max`, by `shape`
  std::array<ternary, 8>
      clamps;  ///< indexed by operands: a bit for each, from the first, that is set if it is a single value

  /// Sets a bit for each row: whether the comparison is true. A comparison with NaN is false.
  template <typename T>
  using comparer = void (*)(std::uint64_t* out, const T* a, const T* b, std::size_t rows);
  template <typename T>
  using comparers = std::array<std::array<comparer<T>, 2>, 6>;  ///< by `comparison` and `shape`, without `same_each`
  comparers<double> compare_floats;
  comparers<std::int64_t> compare_exacts;

  /// Sets a bit for each row: whether the value in `x` equals a number in the list.
  template <typename T>
  using finder = void (*)(std::uint64_t* out, const T* x, const T* list, std::size_t listed, std::size_t rows);
  finder<double> find_float;
  finder<std::int64_t> find_exact;

  /// For each row, copies the value of `a` if the row's bit is set, and the value of `b` otherwise.
  template <typename T>
  using chooser = void (*)(T* out, const std::uint64_t* valid, const T* a, const T* b, std::size_t rows);
  template <typename T>
  using choosers = std::array<chooser<T>, 4>;  ///< by `shape`
  choosers<double> choose_float;
  choosers<std::int64_t> choose_exact;

  /// Converts each integer to the nearest double.
  void (*widen)(double* out, const std::int64_t* in, std::size_t rows);
  /// Replaces each value whose bit is not set by zero.
  void (*drop_invalid)(double* values, const std::uint64_t* valid, std::size_t rows);
  /// Returns whether all values are finite.
  bool (*all_finite)(const double* values, std::size_t rows);
  /// Sets a bit for each row: whether the value is finite.
  void (*finite_bits)(std::uint64_t* out, const double* values, std::size_t rows);
  /// Sets a bit for each row: whether the set contains the row's code. The set is a bitmap with a bit for each code, in
  /// words of 32 bits. The bitmap has at least one word.
  void (*match_codes)(std::uint64_t* out, const std::uint32_t* codes, const std::uint32_t* set, std::size_t set_words,
                      std::size_t rows);

  template <typename T>
  [[nodiscard]] auto compare() const noexcept -> const comparers<T>&;
  template <typename T>
  [[nodiscard]] auto find() const noexcept -> finder<T>;
  template <typename T>
  [[nodiscard]] auto choose() const noexcept -> const choosers<T>&;
};

/// Returns the kernels for the best vector instructions of this machine. The environment variable RANKD_SIMD can select
/// others.
auto kernels() noexcept -> const kernel_table&;

/// Returns the names of the vector instructions that this machine has and rankd has kernels for, best first.
auto kernel_instructions() -> std::vector<std::string_view>;

/// Makes `kernels()` return the kernels for the given instructions as long as this object exists. Only for
/// single-threaded tests.
class forced_instructions {
 public:
  /// Selects instructions by name. Requires a name from `kernel_instructions()`.
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
