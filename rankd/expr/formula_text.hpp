// rankd/expr/formula_text.hpp: expressions and predicates as their authors write them, with the names of the
// registries.
#pragma once

#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <string>

namespace rankd {

/// Returns the infix notation of a tree, such as `Key.id * (P.weight ?? 0.2)`, with no more parentheses than precedence
/// requires. Numbers that the registries do not declare are printed as `Key[7]`.
/// Cost: the length of the text for each level; no recursion.
[[nodiscard]] auto formula_text(const syntax_tree& tree, const registries& declared) -> std::string;

/// `Key.NAME`, and `P.NAME` of a param.
[[nodiscard]] auto key_text(std::uint32_t key_id, const registries& declared) -> std::string;
[[nodiscard]] auto param_text(std::uint32_t param_id, const registries& declared) -> std::string;

}  // namespace rankd
