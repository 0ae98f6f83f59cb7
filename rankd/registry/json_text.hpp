// rankd/registry/json_text.hpp: JSON written by appending to a string.
#pragma once

#include <rankd/registry/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rankd {

/// Appends a JSON string. Bytes that are not UTF-8 are written as the characters U+0080 to U+00FF, escaped, so that
/// the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

/// Appends bytes as a JSON value: a string if they are UTF-8, otherwise `{"base64": …}` (RFC 4648, padded), so that
/// different bytes are written differently.
void append_json_bytes(std::string& out, std::string_view bytes);

/// Appends a number that every parser of JSON reads back as the same double: the shortest such text, but with an
/// exponent if an integer of this size would not fit into 64 bits, and `-0.0` for minus zero. Requires a finite one.
void append_json_number(std::string& out, double value);
void append_json_number(std::string& out, std::int64_t value);

/// Returns a number as JSON, for messages; "null" for any other value.
auto number_text(const scalar& value) -> std::string;

}  // namespace rankd
