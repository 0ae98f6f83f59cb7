// rankd/registry/json_text.hpp: functions that append JSON to a string.
#pragma once

#include <rankd/registry/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rankd {

/// Appends a JSON string. Each byte that is not UTF-8 is written as an escaped character from U+0080 to U+00FF, so that
/// the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

/// Returns the text as a JSON string.
auto quote_json(std::string_view text) -> std::string;

/// Appends bytes as a JSON value. UTF-8 is written as a string, and other bytes as `{"base64": …}` (RFC 4648, padded).
/// So different bytes are always written differently.
void append_json_bytes(std::string& out, std::string_view bytes);

/// Appends a finite number so that every JSON parser reads back the same double. Writes the shortest text, with two
/// exceptions: a number that would look like an integer beyond 64 bits gets an exponent, and minus zero is `-0.0`.
void append_json_number(std::string& out, double value);
void append_json_number(std::string& out, std::int64_t value);

/// Returns a number as JSON, for messages. Returns "null" for a value that is not a number.
auto number_text(const scalar& value) -> std::string;

}  // namespace rankd
