// rankd/op/describe.hpp: the operators as data, for tools that write plans without this engine.
#pragma once

#include <rankd/plan/op_shape.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// "int", "key_id", …: how lists of operators call a kind of param.
auto to_string(param_kind kind) noexcept -> std::string_view;

/// Every operator with its inputs and params, and every op of expressions and predicates with its fields, as TOML.
/// The same engine gives the same bytes.
auto ops_toml() -> std::string;

}  // namespace rankd
