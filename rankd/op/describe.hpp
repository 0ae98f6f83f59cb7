// rankd/op/describe.hpp: descriptions of all operators as TOML, for tools that write plans without this engine.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/op_shape.hpp>

#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// Returns the name of a kind of param in descriptions of operators, such as "int" or "key_id".
auto to_string(param_kind kind) noexcept -> std::string_view;

/// Returns a TOML description of every built-in operator with its inputs and params, and of every operation of
/// expressions and predicates with its fields. The same build of the engine always returns the same bytes.
auto ops_toml() -> std::string;

/// Returns the description of the given library operators in the format of `ops_toml`. The text can be used alone or
/// appended to the output of `ops_toml`.
auto own_ops_toml(std::span<const op_entry* const> own) -> std::string;

}  // namespace rankd
