// rankd/cli/output/printable.cpp: escapes characters that a terminal would not show, and computes the width of text.
#include <rankd/cli/output/printable.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace rankd {
namespace {

struct character_range {
  char32_t first;
  char32_t last;
};

/// The invisible characters that change the text around them, such as line separators and direction marks.
constexpr std::array<character_range, 5> steering{
    {{0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}}};

/// Characters without a width of their own: combining marks, joiners, variation selectors. Source: Unicode, the common
/// blocks of categories Mn and Cf.
constexpr std::array<character_range, 9> joining{{{0x0300, 0x036F},
                                                  {0x0483, 0x0489},
                                                  {0x0591, 0x05BD},
                                                  {0x064B, 0x065F},
                                                  {0x1AB0, 0x1AFF},
                                                  {0x200B, 0x200D},
                                                  {0x20D0, 0x20FF},
                                                  {0xFE00, 0xFE0F},
                                                  {0xE0100, 0xE01EF}}};

/// Characters that occupy two columns. Source: Unicode, EastAsianWidth.txt, the blocks in which all characters are
/// wide.
constexpr std::array<character_range, 14> wide{{{0x1100, 0x115F},
                                                {0x2E80, 0x303E},
                                                {0x3041, 0x33FF},
                                                {0x3400, 0x4DBF},
                                                {0x4E00, 0x9FFF},
                                                {0xA000, 0xA4CF},
                                                {0xA960, 0xA97F},
                                                {0xAC00, 0xD7A3},
                                                {0xF900, 0xFAFF},
                                                {0xFE30, 0xFE6F},
                                                {0xFF00, 0xFF60},
                                                {0xFFE0, 0xFFE6},
                                                {0x1F300, 0x1FAFF},
                                                {0x20000, 0x3FFFD}}};

template <std::size_t Count>
auto is_in(const std::array<character_range, Count>& ranges, char32_t c) -> bool {
  return std::ranges::any_of(ranges, [c](character_range each) { return each.first <= c && c <= each.last; });
}

/// Decodes a well-formed UTF-8 sequence.
auto decoded(std::string_view sequence) -> char32_t {
  const auto byte = [sequence](std::size_t index) { return static_cast<unsigned char>(sequence[index]); };
  if (sequence.size() == 1) return byte(0);
  char32_t out = byte(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t at = 1; at < sequence.size(); ++at) out = out << 6U | (byte(at) & 0x3FU);
  return out;
}

void append_hex(std::string& out, std::uint32_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string reversed;
  for (; value != 0 || reversed.size() < 2; value >>= 4U) reversed += digits[value & 0xFU];
  out.append(reversed.rbegin(), reversed.rend());
}

void append_byte(std::string& out, char byte) {
  out += "\\x";
  append_hex(out, static_cast<unsigned char>(byte));
}

void append_character(std::string& out, std::string_view sequence) {
  const char32_t c = decoded(sequence);
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\r') {
    out += "\\r";
  } else if (control && c < 0x80) {
    append_byte(out, sequence.front());
  } else if (control || is_in(steering, c)) {
    out += "\\u{";
    append_hex(out, c);
    out += '}';
  } else {
    out += sequence;
  }
}

}  // namespace

auto printable(std::string_view text) -> std::string {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0)
      append_byte(out, text.front());
    else
      append_character(out, text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

auto printable(const braid::diagnostics& problems) -> std::string {
  braid::diagnostics shown;
  for (const braid::diagnostic& item : problems)
    shown.add({.code = printable(item.code),
               .pointer = printable(item.pointer),
               .message = printable(item.message),
               .hint = printable(item.hint),
               .node = printable(item.node),
               .source = printable(item.source)});
  return shown.to_text();
}

auto display_width(std::string_view text) -> std::size_t {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text), 1);
    const char32_t c = decoded(text.substr(0, length));
    if (!is_in(joining, c)) width += is_in(wide, c) ? 2 : 1;
    text.remove_prefix(length);
  }
  return width;
}

}  // namespace rankd
