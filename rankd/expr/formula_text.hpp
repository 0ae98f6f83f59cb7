// rankd/expr/formula_text.hpp: prints expressions and predicates as plan authors write them, with the names of keys and
// params.
#pragma once

#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <string>

namespace rankd {

/// Returns the infix notation of a tree, such as `Key.id * (P.weight ?? 0.2)`, with no more parentheses than precedence
/// requires. A key or param that is not declared is printed by its number, such as `Key[7]`.
/// Cost: proportional to the length of the text, once for each level of the tree. The function does not recurse.
[[nodiscard]] auto formula_text(const syntax_tree& tree, const registries& declared) -> std::string;

/// Returns the text of a key, `Key.NAME`, or of a param, `P.NAME`.
[[nodiscard]] auto key_text(std::uint32_t key_id, const registries& declared) -> std::string;
[[nodiscard]] auto param_text(std::uint32_t param_id, const registries& declared) -> std::string;

}  // namespace rankd
