// braid/net/detail/http_text.hpp: the characters that each part of an HTTP message may contain.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace braid::detail {

/// The parts of a message in which a character may be allowed. Each part has its own bit.
enum http_char : std::uint8_t {
  in_token = 1,   // names of fields and methods
  in_value = 2,   // values of fields: everything except control characters; tab does not count as one
  in_target = 4,  // targets of requests, without the percent sign
  in_host = 8,    // names of hosts
  is_hex = 16,
  is_digit = 32,
};

consteval auto make_http_chars() -> std::array<std::uint8_t, 256> {
  std::array<std::uint8_t, 256> out{};
  const auto mark = [&](std::string_view chars, int places) {
    for (const char c : chars) out[static_cast<unsigned char>(c)] |= static_cast<std::uint8_t>(places);
  };
  for (unsigned c = 0; c < 256; ++c)
    if ((c >= ' ' && c != 0x7f) || c == '\t') out[c] |= in_value;
  mark("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", in_token | in_target | in_host);
  mark("0123456789", in_token | in_target | in_host | is_hex | is_digit);
  mark("abcdefABCDEF", is_hex);
  mark("!#$%&'*+-.^_`|~", in_token);
  mark("-._~!$&'()*+,;=:@/?", in_target);
  mark("-._~!$&'()*+;=", in_host);
  return out;
}

inline constexpr auto http_chars = make_http_chars();

[[nodiscard]] constexpr auto is_http(char c, http_char place) noexcept -> bool {
  return (http_chars[static_cast<unsigned char>(c)] & place) != 0;
}

/// Returns whether `text` is not empty and all of its characters are allowed in this part of a message.
[[nodiscard]] constexpr auto all_http(std::string_view text, http_char place) noexcept -> bool {
  for (const char c : text)
    if (!is_http(c, place)) return false;
  return !text.empty();
}

/// Returns the position of the first character at or after the position `index` that must not be in a field value.
/// Returns `end` if there is no such character. Eight bytes are checked at a time, because most received bytes are
/// checked here.
[[nodiscard]] inline auto find_control(const char* text, std::size_t index, std::size_t end) noexcept -> std::size_t {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t highs = ones * 0x80U;
  while (end - index >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + index, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
    const std::uint64_t del = word ^ (ones * 0x7fU);
    // `found` marks each byte below 32 and each DEL. (Each DEL has become a zero byte in `del`.) The computation can
    // also mark other bytes by mistake, but only after a correctly marked byte, and only the first mark is used.
    const std::uint64_t found = (((word - ones * 0x20U) & ~word) | ((del - ones) & ~del)) & highs;
    index += found == 0 ? sizeof(std::uint64_t) : static_cast<std::size_t>(std::countr_zero(found)) / 8;
    if (found == 0) continue;
    if (!is_http(text[index], in_value)) return index;
    ++index;  // a tab
  }
  while (index < end && is_http(text[index], in_value)) ++index;
  return index;
}

[[nodiscard]] constexpr auto lower(char c) noexcept -> char {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Returns whether the two strings are equal, ignoring case. `in_lower` must be in lower case.
[[nodiscard]] constexpr auto equals_lower(std::string_view text, std::string_view in_lower) noexcept -> bool {
  if (text.size() != in_lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (lower(text[i]) != in_lower[i]) return false;
  return true;
}

/// Returns `text` without white space at both ends.
[[nodiscard]] constexpr auto trimmed(std::string_view text) noexcept -> std::string_view {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace braid::detail
