// src/base/base64.cpp: converts three bytes at a time to four characters, and back.
#include <braid/base/detail/base64.hpp>

#include <cstddef>

namespace braid::detail {
namespace {

constexpr std::string_view standard_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the value of a character in the two alphabets, or 64 if the character is in neither alphabet.
constexpr auto bits_of(char letter) noexcept -> std::uint32_t {
  if (letter >= 'A' && letter <= 'Z') return static_cast<std::uint32_t>(letter - 'A');
  if (letter >= 'a' && letter <= 'z') return static_cast<std::uint32_t>(letter - 'a') + 26;
  if (letter >= '0' && letter <= '9') return static_cast<std::uint32_t>(letter - '0') + 52;
  if (letter == '+' || letter == '-') return 62;
  return letter == '/' || letter == '_' ? 63 : 64;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes, base64_alphabet alphabet) {
  const std::string_view letters = alphabet == base64_alphabet::url ? url_letters : standard_letters;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i)
      three = three << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= group.size() ? letters[three >> (18 - 6 * i) & 63U] : '=';
  }
}

auto from_base64(std::string_view text, std::span<char> room) -> std::optional<std::string_view> {
  if (text.size() % 4 == 0)
    for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::size_t used = 0;
  std::uint32_t held = 0;
  unsigned held_bits = 0;
  for (const char letter : text) {
    const std::uint32_t bits = bits_of(letter);
    if (bits > 63) return std::nullopt;
    held = held << 6U | bits;
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    room[used++] = static_cast<char>(held >> held_bits & 0xFFU);
  }
  if ((held & ((1U << held_bits) - 1)) != 0) return std::nullopt;  // another text already stands for the same bytes
  return std::string_view(room.data(), used);
}

}  // namespace braid::detail
