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

}  // namespace rankd::detail
