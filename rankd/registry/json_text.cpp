// rankd/registry/json_text.cpp: escaping, UTF-8, and numbers.
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <braid/base/assert.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>

namespace rankd {
namespace {

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
    const bool ascii = static_cast<unsigned char>(text.front()) < 0x80;  // nearly all of what is written
    const std::size_t length = ascii ? 1 : utf8_character(text);
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
