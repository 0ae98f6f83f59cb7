// rankd/op/detail/formulas.hpp: shared code of operators that evaluate expressions and predicates.
#pragma once

#include <rankd/expr/evaluate.hpp>
#include <rankd/op/operator.hpp>

#include <cstddef>
#include <expected>

namespace rankd::detail {

/// Returns the error of a node whose expression or predicate could not be evaluated.
inline auto cannot_evaluate(const evaluation_error& error) -> std::unexpected<op_error> {
  return std::unexpected(op_error{error.code, error.message + " (at " + error.pointer + ")"});
}

/// Estimates the time in nanoseconds that `program` takes for `rows` rows.
inline auto estimate_cost(const compiled_tree& program, std::size_t rows) noexcept -> double {
  const compiled_tree::cost_guess guess = program.cost();
  return guess.once_ns + guess.row_ns * static_cast<double>(rows);
}

}  // namespace rankd::detail
