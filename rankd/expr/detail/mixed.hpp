// rankd/expr/detail/mixed.hpp: int64 and double compared exactly.
#pragma once

#include <rankd/expr/tree.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd::detail {

/// A comparison with a number that is the same for every row.
template <typename T>
struct bound_test {
  comparison how;
  T bound;
};

/// Returns the test of an int64 that says what comparing it with a double says.
[[nodiscard]] auto bound_for_exacts(comparison comparison, double bound) noexcept -> bound_test<std::int64_t>;

/// Returns the test of a double that says what comparing it with an int64 says.
[[nodiscard]] auto bound_for_floats(comparison comparison, std::int64_t bound) noexcept -> bound_test<double>;

/// Writes for each row whether the comparison holds, with zeros behind the last one.
void compare_mixed(comparison comparison, std::uint64_t* out, const std::int64_t* a, const double* b, std::size_t rows);

/// Returns the comparison that holds for (b, a) when `how` holds for (a, b).
[[nodiscard]] auto mirrored(comparison how) noexcept -> comparison;

}  // namespace rankd::detail
