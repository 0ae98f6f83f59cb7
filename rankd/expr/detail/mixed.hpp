// rankd/expr/detail/mixed.hpp: exact comparisons of int64 with double.
#pragma once

#include <rankd/expr/tree.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd::detail {

/// A comparison of the value of each row with a single number.
template <typename T>
struct bound_test {
  comparison how;
  T bound;
};

/// Converts a comparison with the double `bound` to a comparison with an int64. Both comparisons have the same result
/// for every int64.
[[nodiscard]] auto bound_for_exacts(comparison comparison, double bound) noexcept -> bound_test<std::int64_t>;

/// Converts a comparison with the int64 `bound` to a comparison with a double. Both comparisons have the same result
/// for every double.
[[nodiscard]] auto bound_for_floats(comparison comparison, std::int64_t bound) noexcept -> bound_test<double>;

/// Sets a bit for each row: whether the comparison is true. Clears the remaining bits of the last word.
void compare_mixed(comparison comparison, std::uint64_t* out, const std::int64_t* a, const double* b, std::size_t rows);

/// Returns the comparison for exchanged operands. The returned comparison is true for (b, a) if and only if `operation`
/// is true for (a, b).
[[nodiscard]] auto mirrored(comparison operation) noexcept -> comparison;

}  // namespace rankd::detail
