// rankd/expr/detail/ops.hpp: the table of all operations (ops) in trees. Each row lists the fields and the arithmetic
// of one op.
#pragma once

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/tree.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rankd::detail {

/// The type of a field in the JSON object of a node.
enum class field_kind : std::uint8_t {
  value,    ///< an expression, hence a child
  truth,    ///< a predicate, hence a child
  literal,  ///< a finite number
  boolean,  ///< true or false
  key,      ///< the number of a key
  param,    ///< the number of a param
  cmp,      ///< `==`, `!=`, `<`, `<=`, `>` or `>=`
  list,     ///< numbers or strings
  pattern,  ///< an object: a literal or a param
  flags,    ///< "" or "i"; may be absent
  text,     ///< an object: a literal, a key or a param
  count,    ///< an integer from 1 to `max_buckets`
  seed,     ///< a string; may be absent
  string,   ///< a string
};

struct op_field {
  std::string_view name;
  field_kind kind;
};

[[nodiscard]] constexpr auto is_child(field_kind kind) noexcept -> bool {
  return kind == field_kind::value || kind == field_kind::truth;
}

/// The description of one op. A new op needs an enumerator, a row and, if it is arithmetic, a kernel.
struct op_row {
  node_op op;
  std::string_view name;
  field_kind result;  ///< `value` or `truth`
  std::span<const op_field> fields;
  /// The arithmetic operation on doubles that computes the op. Empty if the evaluator has a special instruction for the
  /// op.
  std::optional<arithmetic> computes = {};
  std::string_view capability = {};  ///< the capability that a plan must require to use the op; empty: none
};

/// The capabilities for ops that were added to the plan format later. A plan that uses such an op must require its
/// capability.
inline constexpr std::string_view arithmetic_capability = "cap.rfc.0001.arithmetic.v1";

inline constexpr std::string_view formulas_capability = "cap.rfc.0006.formulas.v1";

/// Operators that search for vectors, or use vectors to diversify rows, also require this capability.
inline constexpr std::string_view vectors_capability = "cap.rfc.0009.vectors.v1";

/// The maximum number of buckets that ids can be distributed over.
inline constexpr std::int64_t max_buckets = 1'000'000;

/// Returns the rows of all ops, in the order of `node_op`.
auto all_op_rows() noexcept -> std::span<const op_row>;

/// Returns the row of an op.
inline auto find_row(node_op op) noexcept -> const op_row& { return all_op_rows()[static_cast<std::size_t>(op)]; }

}  // namespace rankd::detail
