// rankd/expr/detail/ops.hpp: the table of everything a tree can do: one row an op, with its fields and its arithmetic.
#pragma once

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/tree.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rankd::detail {

/// The type of a field of a node's JSON.
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

/// One op. A further one needs an enumerator, a row and, if it computes, a kernel for its arithmetic.
struct op_row {
  node_op op;
  std::string_view name;
  field_kind result;  ///< `value` or `truth`
  std::span<const op_field> fields;
  /// the arithmetic from doubles to a double; empty if the evaluator does more
  std::optional<arithmetic> computes = {};
  std::string_view capability = {};  ///< what a plan that uses it must require; empty: nothing
};

/// Ops that the plan format had not from its beginning.
inline constexpr std::string_view arithmetic_capability = "cap.rfc.0001.arithmetic.v1";

inline constexpr std::string_view formulas_capability = "cap.rfc.0006.formulas.v1";

inline constexpr std::string_view vectors_capability = "cap.rfc.0009.vectors.v1";

/// The most buckets that ids are spread over.
inline constexpr std::int64_t max_buckets = 1'000'000;

/// Every op, in the order of `node_op`.
auto all_ops() noexcept -> std::span<const op_row>;

/// Returns the row of one op.
inline auto find_row(node_op op) noexcept -> const op_row& { return all_ops()[static_cast<std::size_t>(op)]; }

}  // namespace rankd::detail
