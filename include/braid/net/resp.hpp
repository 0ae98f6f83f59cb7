// braid/net/resp.hpp: a value of the Redis protocol, RESP2 or RESP3, whose texts and elements lie in an arena.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/assert.hpp>
#include <braid/base/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace braid {

/// The type of a value, with the byte that stands for it in the protocol.
enum class resp_type : std::uint8_t {
  null,           ///< `_`, and `$-1` and `*-1` of RESP2
  simple_string,  ///< `+`
  bulk_string,    ///< `$`
  verbatim,       ///< `=`: a text with a format of three letters
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

/// One reply, or one element of it. Copies are shallow: texts and elements stay where they are.
/// Lifetime: as long as the arena that the reply was read into.
class resp_value {
 public:
  constexpr resp_value() noexcept : integer_(0) {}

  /// A text of one of the types that have one. Requires less than 4 GiB.
  static constexpr auto of_text(resp_type type, std::string_view text) noexcept -> resp_value {
    resp_value out(type, text.size());
    out.text_ = text.data();
    return out;
  }
  /// An aggregate; a map has its keys and values, alternating.
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

  /// The bytes of a text; those of a verbatim one without its format. Requires `has_text`.
  [[nodiscard]] auto text() const noexcept -> std::string_view {
    BRAID_EXPECTS(has_text(), "only a text has bytes");
    return type_ == resp_type::verbatim ? std::string_view(text_ + 4, size_ - 4U) : std::string_view(text_, size_);
  }
  /// The three letters before a verbatim text, such as `txt`. Requires that type.
  [[nodiscard]] auto format() const noexcept -> std::string_view {
    BRAID_EXPECTS(type_ == resp_type::verbatim, "only a verbatim text has a format");
    return {text_, 3};
  }
  /// Requires `has_items`.
  [[nodiscard]] auto items() const noexcept -> std::span<const resp_value> {
    BRAID_EXPECTS(has_items(), "only an aggregate has elements");
    return {items_, size_};
  }
  [[nodiscard]] auto integer() const noexcept -> std::int64_t {
    BRAID_EXPECTS(type_ == resp_type::integer, "only an integer has its value");
    return integer_;
  }
  [[nodiscard]] auto real() const noexcept -> double {
    BRAID_EXPECTS(type_ == resp_type::real, "only a real has its value");
    return real_;
  }
  [[nodiscard]] auto boolean() const noexcept -> bool {
    BRAID_EXPECTS(type_ == resp_type::boolean, "only a boolean has its value");
    return integer_ != 0;
  }

  /// Same type, same bytes, same elements in the same order; reals by their bits.
  BRAID_API friend auto operator==(const resp_value& left, const resp_value& right) noexcept -> bool;

 private:
  constexpr resp_value(resp_type type, std::size_t size) noexcept
      : type_(type), size_(static_cast<std::uint32_t>(size)), integer_(0) {}

  resp_type type_ = resp_type::null;
  std::uint32_t size_ = 0;  // bytes of a text, elements of an aggregate
  union {
    const char* text_;
    const resp_value* items_;
    std::int64_t integer_;
    double real_;
  };
};

/// The same value with all of its texts and elements in another arena. Errors: std::bad_alloc.
BRAID_API auto copied(const resp_value& source, arena& memory) -> resp_value;

}  // namespace braid
