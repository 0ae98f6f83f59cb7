// rankd/expr/detail/check.hpp: what the registries have to say about a tree.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <vector>

namespace rankd::detail {

/// Every diagnostic about keys, params, string lists and patterns, from left to right; `compile_expr` lists
/// the codes. Where there is none, the program can be made without further doubt.
auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics;

/// A diagnostic for each bucket of what may be a fraction. Requires the facts of a tree of which `check_names` finds
/// nothing wrong.
auto check_buckets(const syntax_tree& tree, const std::vector<facts>& found) -> braid::diagnostics;

}  // namespace rankd::detail
