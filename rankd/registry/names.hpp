// rankd/registry/names.hpp: how the names in registries and plans are spelled.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rankd {

/// Returns true for `[A-Za-z_][A-Za-z0-9_]*`: keys, params, features, endpoints, so that TypeScript can name them too.
auto is_identifier(std::string_view text) noexcept -> bool;

/// Returns true for `[A-Za-z0-9_]+`: plans, nodes, expressions.
auto is_plan_word(std::string_view text) noexcept -> bool;

/// Returns true for `ep_NNNN`, four digits.
auto is_endpoint_id(std::string_view text) noexcept -> bool;

/// Returns true for `exp_NNNN`, four digits.
auto is_experiment_id(std::string_view text) noexcept -> bool;

/// Returns true for `cap.rfc.NNNN.slug.vK`: four digits, a slug in lower case, a version from 1 on.
auto is_capability_id(std::string_view text) noexcept -> bool;

/// Returns the length of the character at the front of `text`; 0 if these bytes are not UTF-8. Requires text.
auto utf8_character(std::string_view text) noexcept -> std::size_t;

/// Returns true for bytes that are UTF-8 all through: no overlong forms, no surrogates, nothing past U+10FFFF.
auto is_utf8(std::string_view text) noexcept -> bool;

/// Returns the length of the longest prefix of `text` that is UTF-8.
auto utf8_prefix(std::string_view text) noexcept -> std::size_t;

/// Returns the name between backquotes for a message, truncated if it is too long.
auto quote_name(std::string_view name) -> std::string;

}  // namespace rankd
