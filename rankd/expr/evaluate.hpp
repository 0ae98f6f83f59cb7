// rankd/expr/evaluate.hpp: programs run over the active rows of a set, column by column.
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

/// Why a program that was compiled cannot run with these values of params.
struct evaluation_error {
  std::string code;     ///< `regex_pattern_null` or `bad_regex`
  std::string pointer;  ///< JSON pointer of the part of the tree
  std::string message;
};

template <typename T>
using evaluated = std::expected<T, evaluation_error>;

struct evaluate_options {
  static constexpr std::size_t one_part = std::numeric_limits<std::size_t>::max();

  /// The approximate number of rows of a part; parts run in parallel on this worker and on idle workers of its pool.
  /// The result does not depend on the parts.
  std::size_t rows_of_part = one_part;
};

/// Returns a column of floats for the whole batch: the value of the expression on active rows, null on the others. The
/// value under a null is zero. Overflow of sums and products follows IEEE 754, so a value need not be finite: see
/// `find_defect`. `params` contains a value, or null, for each entry of `registries::params`, in that order and of the
/// declared type.
/// Errors: `regex_pattern_null`, `bad_regex`, of a predicate inside; the same for any rows, even if there are none.
/// Cost: a fraction of a nanosecond per row and operation, several for exp, log, log1p and pow, and one for a row that
/// is not in its natural place; rows in an order of their own are one part. Lifetime: the column is in `memory`.
auto evaluate(const expr_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options = {}) -> evaluated<column>;

/// The same as a column of integers. Requires `code.gives_integers()`.
auto evaluate_integers(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                       braid::arena& memory, evaluate_options options = {}) -> evaluated<column>;

/// Returns the same as a column of strings, each of them once in its dictionary. Requires `code.gives_strings()`. Cost:
/// as `evaluate`, with a copy of strings that are put together, and a hash for each row.
auto evaluate_strings(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                      braid::arena& memory) -> evaluated<column>;

/// Returns a bit for each position in the order of `rows`: whether the predicate is true there. Pass it to
/// `row_set::select`.
/// Errors: `regex_pattern_null`, `bad_regex`; the same for any rows, even if there are none. Cost: a fraction of a
/// nanosecond per row and test; each string that occurs is tested once, or each string of the dictionary if it has no
/// more strings than there are rows. Lifetime: the bits are in `memory`.
auto evaluate(const pred_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options = {}) -> evaluated<bitmap>;

}  // namespace rankd
