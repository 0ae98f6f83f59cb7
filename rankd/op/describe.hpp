// rankd/op/describe.hpp: the operators as data, for tools that write plans without this engine.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/op_shape.hpp>

#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// "int", "key_id", …: how lists of operators call a kind of param.
auto to_string(param_kind kind) noexcept -> std::string_view;

/// Returns every operator of rankd with its inputs and params, and every op of expressions and predicates with its
/// fields, as TOML. The same engine returns the same bytes.
auto ops_toml() -> std::string;

/// Returns the same for these operators of libraries, to be used separately or after that text.
auto own_ops_toml(std::span<const op_entry* const> own) -> std::string;

}  // namespace rankd
