// braid/net/resp_writer.hpp: writing commands as a Redis server reads them, as arrays of counted texts.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/short_text.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace braid {

/// A text and a number behind it, such as the key `user:42`, without a string that holds both.
struct resp_joined {
  std::string_view text;
  std::int64_t number = 0;
};

/// What a command is made of: texts of any bytes, integers, reals, and joined ones.
template <typename T>
concept resp_argument =
    std::convertible_to<const T&, std::string_view> || std::same_as<T, resp_joined> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) || std::floating_point<T>;

namespace detail {

inline constexpr std::size_t max_number = 32;  // digits, sign, exponent
inline constexpr std::size_t max_head = 24;    // a sign, a length, CR LF twice

template <std::integral T>
auto write_decimal(char* to, T value) noexcept -> char* {
  if (value >= 0 && value < 10) {
    *to = static_cast<char>('0' + static_cast<int>(value));
    return to + 1;
  }
  if (value >= 0 && value < 100) {
    to[0] = static_cast<char>('0' + static_cast<int>(value) / 10);
    to[1] = static_cast<char>('0' + static_cast<int>(value) % 10);
    return to + 2;
  }
  return std::to_chars(to, to + max_number, value).ptr;
}

inline auto write_line_end(char* to) noexcept -> char* {
  to[0] = '\r';
  to[1] = '\n';
  return to + 2;
}

inline auto write_length(char* to, char sign, std::size_t length) noexcept -> char* {
  *to = sign;
  return write_line_end(write_decimal(to + 1, length));
}

inline auto write_text(char* to, std::string_view text) noexcept -> char* {
  to = write_length(to, '$', text.size());
  copy_text(to, text.data(), text.size());
  return write_line_end(to + text.size());
}

/// Bytes that an argument needs at most.
template <resp_argument T>
auto max_bytes(const T& value) noexcept -> std::size_t {
  if constexpr (std::same_as<T, resp_joined>)
    return max_head + value.text.size() + max_number;
  else if constexpr (std::convertible_to<const T&, std::string_view>)
    return max_head + std::string_view(value).size();
  else
    return max_head + max_number;
}

template <resp_argument T>
auto write_argument(char* to, const T& value) noexcept -> char* {
  if constexpr (std::same_as<T, resp_joined>) {
    char digits[max_number];
    const auto count = static_cast<std::size_t>(write_decimal(digits, value.number) - digits);
    to = write_length(to, '$', value.text.size() + count);
    copy_text(to, value.text.data(), value.text.size());
    copy_text(to + value.text.size(), digits, count);
    return write_line_end(to + value.text.size() + count);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return write_text(to, std::string_view(value));
  } else {
    char digits[max_number];
    const char* const end = std::to_chars(digits, digits + max_number, value).ptr;
    return write_text(to, {digits, static_cast<std::size_t>(end - digits)});
  }
}

/// Appends what all commands of a kind begin with, such as `*2` and `$3` `GET` with their line ends, and then the
/// words.
template <resp_argument... Words>
void write_behind(byte_buffer& out, std::string_view head, const Words&... words) {
  char* const begin = out.room((head.size() + ... + max_bytes(words)));
  std::memcpy(begin, head.data(), head.size());
  char* at = begin + head.size();
  ((at = write_argument(at, words)), ...);
  out.added(static_cast<std::size_t>(at - begin));
}

/// Appends one command: its words, in order, such as `write_command(out, "LRANGE", key, 0, -1)`. Reals are written with
/// as many digits as they need.
/// Errors: std::bad_alloc, and then nothing was appended. Cost: about 3 ns a word.
template <resp_argument... Words>
  requires(sizeof...(Words) > 0)
void write_command(byte_buffer& out, const Words&... words) {
  char* const begin = out.room((max_head + ... + max_bytes(words)));
  char* at = write_length(begin, '*', sizeof...(Words));
  ((at = write_argument(at, words)), ...);
  out.added(static_cast<std::size_t>(at - begin));
}

/// The same for words whose number is not known before.
BRAID_API void write_command_words(byte_buffer& out, std::span<const std::string_view> words);

}  // namespace detail

}  // namespace braid
