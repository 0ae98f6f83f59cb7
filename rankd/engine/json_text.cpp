// rankd/engine/json_text.cpp: escaping, UTF-8, and numbers.
#include <rankd/engine/json_text.hpp>

#include <braid/base/assert.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>

namespace rankd {
namespace {

auto is_continuation(unsigned char byte) -> bool { return (byte & 0xC0U) == 0x80U; }

/// The length of the well-formed UTF-8 sequence at the front (RFC 3629), or zero.
auto sequence_length(std::string_view text) -> std::size_t {
  const auto at = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!is_continuation(at(i))) return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const unsigned char second = at(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

void append_escape(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[byte >> 4U];
  out += digits[byte & 0xFU];
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7F)
    append_escape(out, byte);
  else
    out += c;
}

template <typename T>
void append_number(std::string& out, T value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  BRAID_ASSERT(error == std::errc{}, "every number fits the buffer");
  out.append(buffer, end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 1)
      append_ascii(out, text.front());
    else if (length == 0)
      append_escape(out, static_cast<unsigned char>(text.front()));
    else
      out.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  BRAID_ASSERT(std::isfinite(value), "JSON has no number that is not finite");
  append_number(out, value);
}

void append_json_number(std::string& out, std::int64_t value) { append_number(out, value); }

}  // namespace rankd
