// doctor/escape.cpp: validates UTF-8, and decides which characters may be printed.
#include <doctor/escape.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace braid::doctor {
namespace {

auto byte_at(std::string_view text, std::size_t index) -> unsigned { return static_cast<unsigned char>(text[index]); }

/// Returns whether `c` is a valid character, and whether its encoding is not longer than necessary.
auto is_character(char32_t c, std::size_t length) -> bool {
  constexpr std::array<char32_t, 5> min_count{0, 0, 0x80, 0x800, 0x10000};
  return c >= min_count.at(length) && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

auto is_control(std::string_view character) -> bool {
  const unsigned first = byte_at(character, 0);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && byte_at(character, 1) < 0xA0);
}

}  // namespace

auto utf8_length(std::string_view text) -> std::size_t {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first < 0xC0 || first > 0xF7 || text.size() < length) return 0;
  char32_t c = first & (0x7FU >> length);
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte_at(text, at) & 0xC0U) != 0x80) return 0;
    c = c << 6U | (byte_at(text, at) & 0x3FU);
  }
  return is_character(c, length) ? length : 0;
}

auto escaped(std::string_view text) -> std::string {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    if (length != 0 && !is_control(character)) {
      out += character;
      continue;
    }
    for (std::size_t at = 0; at < character.size(); ++at) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", byte_at(character, at));
      out += code.data();
    }
  }
  return out;
}

}  // namespace braid::doctor
