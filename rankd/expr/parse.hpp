// rankd/expr/parse.hpp: trees from the JSON of a plan: shapes only, nothing is looked up.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/tree.hpp>

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// The most nodes on the way from the root of a tree to a leaf, predicates and expressions counted together.
inline constexpr std::size_t max_expr_depth = 200;

/// Parses the expression in `value`; `pointer` is its place in the document.
/// Errors: every diagnostic at once, up to a limit: those of `object_reader`, and `unknown_op`, `mixed_list`,
/// `expr_too_deep` (once; nothing below it is parsed). Cost: linear in the size of `value`; no recursion on its depth.
auto parse_expr(const nlohmann::json& value, std::string_view pointer) -> braid::checked<expr_tree>;

/// Returns the predicate that `value` spells. Errors and cost as for `parse_expr`.
auto parse_pred(const nlohmann::json& value, std::string_view pointer) -> braid::checked<pred_tree>;

}  // namespace rankd
