// rankd/expr/detail/check.hpp: what the registries have to say about a tree.
#pragma once

#include <braid/base/diagnostics.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

namespace rankd::detail {

/// Every diagnostic about keys, params, string lists and patterns, from left to right; `compile_expr` lists
/// the codes. Where there is none, the program can be made without further doubt.
auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics;

}  // namespace rankd::detail
