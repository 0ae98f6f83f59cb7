// braid/net/resp.hpp: values, errors and commands of the Redis protocol (RESP).
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/short_text.hpp>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace braid {

/// The type of a value. Each constant is the byte with which values of that type begin in the protocol.
enum class resp_type : std::uint8_t {
  null,           ///< `_`, and `$-1` and `*-1` of RESP2
  simple_string,  ///< `+`
  bulk_string,    ///< `$`
  verbatim,       ///< `=`: a string with a format of three letters
  big_number,     ///< `(`: an integer of any length, as its text
  error,          ///< `-` and `!`
  integer,        ///< `:`
  real,           ///< `,`
  boolean,        ///< `#`
  array,          ///< `*`
  set,            ///< `~`
  push,           ///< `>`
  map,            ///< `%`: keys and values, alternating
};

/// A reply, or an element of a reply. Copies are shallow: strings and elements stay in the arena.
/// Lifetime: it is valid as long as the arena into which the reply was parsed.
class resp_value {
 public:
  constexpr resp_value() noexcept : integer_(0) {}

  /// Creates a value of a type for which `has_text` is true, such as a string or an error. Requires that the text is
  /// smaller than 4 GiB.
  static constexpr auto of_text(resp_type type, std::string_view text) noexcept -> resp_value {
    resp_value out(type, text.size());
    out.text_ = text.data();
    return out;
  }
  /// Creates an aggregate. The items of a map are its keys and values, alternating.
  static constexpr auto of_items(resp_type type, std::span<const resp_value> items) noexcept -> resp_value {
    resp_value out(type, items.size());
    out.items_ = items.data();
    return out;
  }
  static constexpr auto of_integer(std::int64_t value) noexcept -> resp_value {
    resp_value out(resp_type::integer, 0);
    out.integer_ = value;
    return out;
  }
  static constexpr auto of_real(double value) noexcept -> resp_value {
    resp_value out(resp_type::real, 0);
    out.real_ = value;
    return out;
  }
  static constexpr auto of_boolean(bool value) noexcept -> resp_value {
    resp_value out(resp_type::boolean, 0);
    out.integer_ = value ? 1 : 0;
    return out;
  }

  [[nodiscard]] constexpr auto type() const noexcept -> resp_type { return type_; }
  [[nodiscard]] constexpr auto is_null() const noexcept -> bool { return type_ == resp_type::null; }
  [[nodiscard]] constexpr auto is_error() const noexcept -> bool { return type_ == resp_type::error; }
  [[nodiscard]] constexpr auto has_text() const noexcept -> bool {
    return type_ >= resp_type::simple_string && type_ <= resp_type::error;
  }
  [[nodiscard]] constexpr auto has_items() const noexcept -> bool { return type_ >= resp_type::array; }

  /// Returns the bytes of a string. For a verbatim string, the format is left out. Requires that `has_text` is true.
  [[nodiscard]] auto text() const noexcept -> std::string_view {
    BRAID_EXPECTS(has_text(), "this RESP value is not a text");
    return type_ == resp_type::verbatim ? std::string_view(text_ + 4, size_ - 4U) : std::string_view(text_, size_);
  }
  /// Returns the format of a verbatim string: the three letters before the text, such as `txt`. Requires that the value
  /// is a verbatim string.
  [[nodiscard]] auto format() const noexcept -> std::string_view {
    BRAID_EXPECTS(type_ == resp_type::verbatim, "this RESP value is not a verbatim text");
    return {text_, 3};
  }
  /// Returns the elements. Requires that `has_items` is true.
  [[nodiscard]] auto items() const noexcept -> std::span<const resp_value> {
    BRAID_EXPECTS(has_items(), "this RESP value is not an aggregate");
    return {items_, size_};
  }
  [[nodiscard]] auto integer() const noexcept -> std::int64_t {
    BRAID_EXPECTS(type_ == resp_type::integer, "this RESP value is not an integer");
    return integer_;
  }
  [[nodiscard]] auto real() const noexcept -> double {
    BRAID_EXPECTS(type_ == resp_type::real, "this RESP value is not a real number");
    return real_;
  }
  [[nodiscard]] auto boolean() const noexcept -> bool {
    BRAID_EXPECTS(type_ == resp_type::boolean, "this RESP value is not a boolean");
    return integer_ != 0;
  }

  /// Compares the types, the bytes, and the elements in their order. Real numbers are compared by their bits.
  BRAID_API friend auto operator==(const resp_value& left, const resp_value& right) noexcept -> bool;

 private:
  constexpr resp_value(resp_type type, std::size_t size) noexcept
      : type_(type), size_(static_cast<std::uint32_t>(size)), integer_(0) {}

  resp_type type_ = resp_type::null;
  std::uint32_t size_ = 0;  // the number of bytes of a string, or of elements of an aggregate
  union {
    const char* text_;
    const resp_value* items_;
    std::int64_t integer_;
    double real_;
  };
};

/// Copies the value with all of its strings and elements to another arena.
/// Errors: std::bad_alloc.
BRAID_API auto copied(const resp_value& source, arena& memory) -> resp_value;

/// The reasons why a RESP parser refuses its input.
enum class resp_errc : std::uint8_t {
  unknown_type = 1,  ///< a value begins with a byte that is not a type
  bad_number,        ///< an integer or a length is malformed or too large
  bad_real,          ///< a real number is malformed
  bad_boolean,       ///< a boolean is neither t nor f
  bad_null,          ///< a null is followed by other bytes
  bad_line_end,      ///< CR or LF is missing
  bad_verbatim,      ///< a verbatim string has no format of three letters and a colon
  misplaced_push,    ///< a push inside another value
  streamed,          ///< a value of unknown length, which no server sends
  line_too_long,     ///< a line is longer than the limit
  too_deep,          ///< aggregates are nested deeper than the limit
  too_large,         ///< a reply needs more memory than the limit, or is longer
};

namespace detail {

/// Returns the category of `resp_errc`; its messages are sentences. Threads: any.
BRAID_API auto resp_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts a `resp_errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(resp_errc code) noexcept -> std::error_code;

namespace detail {

/// An error of a parser, and its position in the input.
struct resp_fault {
  resp_errc code = resp_errc::unknown_type;
  std::uint64_t offset = 0;  ///< bytes of the reply before the place
  unsigned char byte = 0;    ///< the first byte of the current value

  /// Describes the error, for example as "byte 12 of the reply, in a value that begins with `:`: a number is malformed
  /// or too great".
  [[nodiscard]] BRAID_API auto to_text() const -> std::string;
};

}  // namespace detail

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::resp_errc> : std::true_type {};

namespace braid {

/// A string followed by a number, such as the key `user:42`. It avoids the construction of a string that contains both.
struct resp_joined {
  std::string_view text;
  std::int64_t number = 0;
};

namespace detail {

/// A word of a command: a string of any bytes, an integer, a real number, or a `resp_joined`.
template <typename T>
concept resp_argument =
    std::convertible_to<const T&, std::string_view> || std::same_as<T, resp_joined> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) || std::floating_point<T>;

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

/// Returns the maximum number of bytes that an encoded argument needs.
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

/// Appends the constant beginning of a command, such as the lines `*2`, `$3` and `GET`, and then the words.
template <resp_argument... Words>
void write_behind(byte_buffer& out, std::string_view head, const Words&... words) {
  char* const begin = out.room((head.size() + ... + max_bytes(words)));
  std::memcpy(begin, head.data(), head.size());
  char* at = begin + head.size();
  ((at = write_argument(at, words)), ...);
  out.added(static_cast<std::size_t>(at - begin));
}

/// Appends one command: its words, in order, such as `write_command(out, "LRANGE", key, 0, -1)`. Real numbers are
/// written with as many digits as they need. Errors: std::bad_alloc; nothing was appended then. Cost: about 3 ns for
/// each word.
template <resp_argument... Words>
  requires(sizeof...(Words) > 0)
void write_command(byte_buffer& out, const Words&... words) {
  char* const begin = out.room((max_head + ... + max_bytes(words)));
  char* at = write_length(begin, '*', sizeof...(Words));
  ((at = write_argument(at, words)), ...);
  out.added(static_cast<std::size_t>(at - begin));
}

/// Appends one command whose number of words is only known at run time.
BRAID_API void write_command_words(byte_buffer& out, std::span<const std::string_view> words);

}  // namespace detail

}  // namespace braid
