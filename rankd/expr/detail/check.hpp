// rankd/expr/detail/check.hpp: checks of a tree against the registries.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

/// Returns all diagnostics about keys, params, string lists and patterns, from left to right. `compile_expr` lists
/// their codes. If there are no diagnostics, the program can be compiled without further checks.
auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics;

/// Returns a diagnostic for each bucket operation whose operand may be a fraction. Requires the facts of a tree for
/// which `check_names` returned no diagnostics.
auto check_buckets(const syntax_tree& tree, const std::vector<facts>& found) -> braid::diagnostics;

/// The type that the parent of a node expects of the node's value.
enum class reading : std::uint8_t { number, text, vector };

/// Returns a diagnostic for each value whose type differs from the type that its parent expects: number, string or
/// vector. `root` is the expected type of the whole tree. Vectors in a product must also have the same dimensions. A
/// string key or string param that is read as a number is null, which is not an error. Requires the same as
/// `check_buckets`.
auto check_texts(const syntax_tree& tree, const std::vector<facts>& found, reading root) -> braid::diagnostics;

}  // namespace rankd::detail
