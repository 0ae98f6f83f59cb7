// rankd/expr/evaluate.hpp: runs compiled programs over the active rows of a row set, column by column.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/expr/compile.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <expected>
#include <limits>
#include <span>
#include <string>

namespace rankd {

/// The reason why a compiled program cannot run with the given values of params.
struct evaluation_error {
  std::string code;     ///< `regex_pattern_null` or `bad_regex`
  std::string pointer;  ///< JSON pointer of the part of the tree
  std::string message;
};

template <typename T>
using evaluated = std::expected<T, evaluation_error>;

struct evaluate_options {
  static constexpr std::size_t one_part = std::numeric_limits<std::size_t>::max();

  /// The approximate number of rows in one part. Parts are evaluated in parallel by this worker and by idle workers of
  /// its pool. The results do not depend on the parts.
  std::size_t rows_of_part = one_part;
};

/// Returns a column of floats for the whole batch: the value of the expression for active rows, and null for all other
/// rows. Null rows contain the value zero. Sums and products may overflow as in IEEE 754, so a value may be infinite or
/// NaN: see `find_defect`. `params` contains a value, or null, for each entry of `registries::params`, in this order
/// and of the declared type.
/// Errors: `regex_pattern_null` and `bad_regex`, if a predicate inside the expression has a pattern from a param. The
/// errors do not depend on the rows.
/// Cost: a fraction of a nanosecond per row and operation; several nanoseconds for exp, log, log1p and pow. Rows that
/// are not in the batch's order cost one nanosecond more each, and are not divided into parts. Lifetime: the column is
/// in `memory`.
auto evaluate(const expr_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options = {}) -> evaluated<column>;

/// Returns the values of the expression as a column of integers. Requires `code.gives_integers()`.
auto evaluate_integers(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                       braid::arena& memory, evaluate_options options = {}) -> evaluated<column>;

/// Returns the values of the expression as a column of strings, whose dictionary contains each string once. Requires
/// `code.gives_strings()`. Cost: that of `evaluate`, plus a hash for each row and a copy of each concatenated string.
auto evaluate_strings(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                      braid::arena& memory) -> evaluated<column>;

/// Returns a bit for each position of `rows`: whether the predicate is true. The result can be passed to
/// `row_set::select`.
/// Errors: `regex_pattern_null`, `bad_regex`. The errors do not depend on the rows. Cost: a fraction of a nanosecond
/// per row and test. A string test runs once for each string of the dictionary. If the dictionary has more strings than
/// there are rows, the test runs only for the strings of active rows. Lifetime: the bits are in `memory`.
auto evaluate(const pred_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options = {}) -> evaluated<bitmap>;

}  // namespace rankd
