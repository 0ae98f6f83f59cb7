// braid/net/detail/short_text.hpp: inlined functions for short strings of the Redis protocol, for which a function call
// would cost too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace braid::detail {

/// Copies a string. It is inlined, because most strings are short, and a call of memcpy would take longer than the
/// copy. The two ranges must not overlap.
inline void copy_text(char* to, const char* from, std::size_t size) noexcept {
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size == 16) {
    std::memcpy(to, from, 16);
  } else if (size >= 8) {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    std::memcpy(&head, from, 8);
    std::memcpy(&tail, from + size - 8, 8);
    std::memcpy(to, &head, 8);
    std::memcpy(to + size - 8, &tail, 8);
  } else if (size >= 4) {
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::memcpy(&head, from, 4);
    std::memcpy(&tail, from + size - 4, 4);
    std::memcpy(to, &head, 4);
    std::memcpy(to + size - 4, &tail, 4);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

/// A length-prefixed string at the start of some bytes.
struct short_text {
  std::string_view text;
  std::size_t consumed = 0;  ///< the size of the text with its length and line ends; 0 if it is absent
};

/// Returns the length-prefixed string (`$`) at the address `begin` if it is complete, valid, and shorter than a hundred
/// bytes. Otherwise returns an empty result.
inline auto short_text_at(const char* begin, const char* end) noexcept -> short_text {
  constexpr std::ptrdiff_t max_begin = 5;  // $NN CR LF
  if (end - begin < max_begin || *begin != '$') return {};
  const auto digit = [begin](std::size_t place) noexcept { return static_cast<unsigned char>(begin[place] - '0'); };
  std::size_t size = digit(1);
  if (size > 9) return {};
  const bool has_two = begin[2] != '\r';
  if (has_two && (size == 0 || digit(2) > 9)) return {};
  if (has_two) size = size * 10 + digit(2);
  const char* const line_end = begin + (has_two ? 3 : 2);
  if (line_end[0] != '\r' || line_end[1] != '\n') return {};
  const char* const text = line_end + 2;
  if (static_cast<std::size_t>(end - text) < size + 2) return {};
  if (text[size] != '\r' || text[size + 1] != '\n') return {};
  return {{text, size}, static_cast<std::size_t>(text + size + 2 - begin)};
}

}  // namespace braid::detail
