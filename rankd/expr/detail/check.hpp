// rankd/expr/detail/check.hpp: what the registries have to say about a tree.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

/// Every diagnostic about keys, params, string lists and patterns, from left to right; `compile_expr` lists
/// the codes. Where there is none, the program can be made without further doubt.
auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics;

/// A diagnostic for each bucket of what may be a fraction. Requires the facts of a tree of which `check_names` finds
/// nothing wrong.
auto check_buckets(const syntax_tree& tree, const std::vector<facts>& found) -> braid::diagnostics;

/// What the value of a node is taken for.
enum class reading : std::uint8_t { number, text, vector };

/// A diagnostic for each string where a number is wanted, for each value that is no string where one is wanted, and for
/// each that is no vector, or one of other dimensions, where one is multiplied, when the value of the root is taken for
/// `root`. A key or param of strings is null as a number, which is no mistake. Requires the same as `check_buckets`.
auto check_texts(const syntax_tree& tree, const std::vector<facts>& found, reading root) -> braid::diagnostics;

}  // namespace rankd::detail
