// rankd/store/detail/json_line.hpp: parses one line of a file as JSON by simdjson. Integers may have any size.
#pragma once

#include <rankd/registry/json_number.hpp>
#include <rankd/store/line_reader.hpp>

#include <string>
#include <string_view>

#include <simdjson.h>

namespace rankd::detail {

static_assert(line_reader::padding >= simdjson::SIMDJSON_PADDING);

/// Parses a line that is followed by `line_reader::padding` readable bytes. simdjson refuses integers beyond 64 bits.
/// If a line contains such integers, it is copied into `widened` with floats in place of the integers, and parsed
/// again. `widened` must outlive the document.
inline auto parse_json_line(simdjson::dom::parser& parser, std::string_view text, std::string& widened,
                            simdjson::dom::element& out) -> simdjson::error_code {
  const auto error = parser.parse(text.data(), text.size(), false).get(out);
  if (error == simdjson::SUCCESS) return error;
  widened = with_large_integers_as_floats(text);
  if (widened.size() == text.size()) return error;
  const std::size_t size = widened.size();
  widened.append(line_reader::padding, ' ');
  return parser.parse(widened.data(), size, false).get(out);
}

/// The reason why a line cannot be read as a JSON value.
struct line_refusal {
  std::string_view code;
  std::string_view message;
};

inline auto refusal_of(simdjson::error_code error) -> line_refusal {
  switch (error) {
    case simdjson::UTF8_ERROR: return {"invalid_utf8", "the line is not valid UTF-8"};
    case simdjson::NUMBER_ERROR:
      return {"bad_number", "a number is malformed, or it does not fit into a float or into an integer of 64 bits"};
    case simdjson::DEPTH_ERROR: return {"too_deep", "the line is nested too deep"};
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return {"bad_string", "a string holds a bad escape or an unescaped control character"};
    case simdjson::UNCLOSED_STRING: return {"bad_string", "a string has no end"};
    default: return {"bad_json", "the line is not one JSON value"};
  }
}

/// Returns the type of a value, for messages.
inline auto type_name(simdjson::dom::element value) -> std::string_view {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::ARRAY: return "an array";
    case element_type::OBJECT: return "an object";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "a bool";
    case element_type::NULL_VALUE: return "null";
    case element_type::INT64:
    case element_type::UINT64: return "an integer";
    case element_type::DOUBLE: return "a fraction";
  }
  return "something else";
}

}  // namespace rankd::detail
