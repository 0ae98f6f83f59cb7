// rankd/registry/value.hpp: the types of keys and params, and a single value of such a type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace rankd {

enum class value_type : std::uint8_t { integer, floating, string, boolean, vector };

/// Returns the name of a type in registries and messages: int, float, string, bool, vector.
auto to_string(value_type type) noexcept -> std::string_view;

/// A single value. std::monostate represents null.
using scalar = std::variant<std::monostate, std::int64_t, double, std::string, bool>;

[[nodiscard]] inline auto is_null(const scalar& value) noexcept -> bool { return value.index() == 0; }

}  // namespace rankd
