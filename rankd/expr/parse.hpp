// rankd/expr/parse.hpp: parses trees from the JSON of a plan. Only the shape is checked; keys and params are not looked
// up.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/tree.hpp>

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// The maximum number of nodes on a path from the root of a tree to a leaf, including both predicates and expressions.
inline constexpr std::size_t max_expr_depth = 200;

/// Parses the expression in `value`. `pointer` is its JSON pointer in the document.
/// Errors: all diagnostics at once, up to a limit: those of `object_reader`, and `unknown_op`, `mixed_list`,
/// `expr_too_deep` (reported once; deeper nodes are not parsed). Cost: linear in the size of `value`, without
/// recursion.
auto parse_expr(const nlohmann::json& value, std::string_view pointer) -> braid::checked<expr_tree>;

/// Parses the predicate in `value`. Errors and cost: the same as for `parse_expr`.
auto parse_pred(const nlohmann::json& value, std::string_view pointer) -> braid::checked<pred_tree>;

}  // namespace rankd
