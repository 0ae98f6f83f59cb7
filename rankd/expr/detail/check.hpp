// rankd/expr/detail/check.hpp: what the registries have to say about a tree.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

/// Returns every diagnostic about keys, params, string lists and patterns, from left to right; `compile_expr` lists the
/// codes. If there is none, the program can be compiled without further checks.
auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics;

/// A diagnostic for each bucket of what may be a fraction. Requires the facts of a tree of which `check_names` finds
/// nothing wrong.
auto check_buckets(const syntax_tree& tree, const std::vector<facts>& found) -> braid::diagnostics;

/// How the value of a node is read.
enum class reading : std::uint8_t { number, text, vector };

/// Returns a diagnostic for each string in place of a number, for each value that is not a string in place of a string,
/// and for each value that is not a vector, or has other dimensions, in a product of vectors, if the value of the root
/// is read as `root`. A key or param of strings is null as a number, which is not an error. Requires the same as
/// `check_buckets`.
auto check_texts(const syntax_tree& tree, const std::vector<facts>& found, reading root) -> braid::diagnostics;

}  // namespace rankd::detail
