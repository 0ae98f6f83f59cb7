// rankd/expr/evaluate.hpp: programs run over the active rows of a set, column by column.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/expr/compile.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>

#include <expected>
#include <span>
#include <string>

namespace rankd {

/// Why a program that was compiled cannot run with these values of params.
struct evaluation_error {
  std::string code;     ///< `regex_pattern_null` or `bad_regex`
  std::string pointer;  ///< JSON pointer of the part of the tree
  std::string message;
};

template <typename T>
using evaluated = std::expected<T, evaluation_error>;

/// A column of floats for the whole batch: the value of the expression on active rows, null on the others. What lies
/// under a null is zero. Overflow gives what IEEE 754 says, so a value need not be finite: see `find_defect`.
/// `params` holds a value, or null, for each entry of `registries::params`, in that order and of the declared type.
/// Cost: under a nanosecond a row and operation. Lifetime: the column lies in `memory`.
auto evaluate(const expr_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory)
    -> evaluated<column>;

/// A bit for each position in the order of `rows`: whether the predicate holds there. `row_set::select` takes it.
/// Errors: `regex_pattern_null`, `bad_regex`; the same for any rows, even none.
/// Cost: under two nanoseconds a row and test of a number; regular expressions run once for each string that occurs.
/// Lifetime: the bits lie in `memory`.
auto evaluate(const pred_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory)
    -> evaluated<bitmap>;

}  // namespace rankd
