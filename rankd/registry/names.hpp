// rankd/registry/names.hpp: checks the spelling of names in registries and plans.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rankd {

/// Returns true for `[A-Za-z_][A-Za-z0-9_]*`, the form of the names of keys, params, features and endpoints. TypeScript
/// can use such names as identifiers.
auto is_identifier(std::string_view text) noexcept -> bool;

/// Returns true for `[A-Za-z0-9_]+`, the form of the names of plans, nodes and expressions.
auto is_plan_word(std::string_view text) noexcept -> bool;

/// Returns true for `ep_NNNN` with four digits, the id of an endpoint.
auto is_endpoint_id(std::string_view text) noexcept -> bool;

/// Returns true for `exp_NNNN` with four digits, the id of an experiment.
auto is_experiment_id(std::string_view text) noexcept -> bool;

/// Returns true for `cap.rfc.NNNN.slug.vK`, the id of a capability. NNNN are four digits, the slug is in lower case,
/// and the version K is at least 1.
auto is_capability_id(std::string_view text) noexcept -> bool;

/// Returns the length of the first character of `text` in bytes, or 0 if this character is not UTF-8. Requires a text
/// that is not empty.
auto utf8_character(std::string_view text) noexcept -> std::size_t;

/// Returns true for valid UTF-8: without overlong forms, surrogates, or characters beyond U+10FFFF.
auto is_utf8(std::string_view text) noexcept -> bool;

/// Returns the length of the longest prefix of `text` that is valid UTF-8.
auto utf8_prefix(std::string_view text) noexcept -> std::size_t;

/// Returns a name in backquotes for a message. A long name is truncated.
auto quote_name(std::string_view name) -> std::string;

}  // namespace rankd
