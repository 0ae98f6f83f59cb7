// rankd/expr/detail/arithmetic.hpp: arithmetic of single values, and loops for what the C library computes.
#pragma once

#include <rankd/expr/detail/kernels.hpp>

#include <array>
#include <cstddef>

namespace rankd::detail {

/// Returns the bits that the kernels give for these operands; what the arithmetic does not take is not looked at. The
/// result need not be finite: see `wants_finite`.
[[nodiscard]] auto computed(arithmetic operation, const std::array<double, 3>& of) noexcept -> double;

/// A value for each row (step 1), or a single one for all of them (step 0).
struct library_operand {
  const double* values = nullptr;
  std::size_t step = 0;
};

/// Computes pow, exp, log or log1p of each row with the C library, whatever the vector instructions of the machine. All
/// except pow read only `a`. NaN if an operand is NaN.
void library_rows(arithmetic operation, double* out, library_operand a, library_operand b, std::size_t rows) noexcept;

}  // namespace rankd::detail
