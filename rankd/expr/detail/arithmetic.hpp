// rankd/expr/detail/arithmetic.hpp: arithmetic on single values, and loops for functions of the C library such as
// `pow`.
#pragma once

#include <rankd/expr/detail/kernels.hpp>

#include <array>
#include <cstddef>

namespace rankd::detail {

/// Computes one operation on single values. The result has the same bits as the result of the kernel for this
/// operation. Ignores operands that the operation does not have. The result may be infinite or NaN: see `wants_finite`.
[[nodiscard]] auto computed(arithmetic operation, const std::array<double, 3>& operands) noexcept -> double;

/// An operand of a C library function: a value for each row (step 1), or a single value for all rows (step 0).
struct library_operand {
  const double* values = nullptr;
  std::size_t step = 0;
};

/// Computes pow, exp, log or log1p for each row with the C library. Only pow uses `b`. The result is NaN if an operand
/// is NaN. The result does not depend on the vector instructions of the machine.
void library_rows(arithmetic operation, double* out, library_operand a, library_operand b, std::size_t rows) noexcept;

}  // namespace rankd::detail
