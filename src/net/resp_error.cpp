// src/net/resp_error.cpp: defines the messages of the RESP parser's errors.
#include <braid/net/resp.hpp>

#include <array>
#include <cstddef>

namespace braid {
namespace {

class resp_errors final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "resp"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    switch (static_cast<resp_errc>(value)) {
      case resp_errc::unknown_type: return "a value begins with a byte that is not a valid type";
      case resp_errc::bad_number: return "an integer or a length is malformed or too large";
      case resp_errc::bad_real: return "a real number is malformed";
      case resp_errc::bad_boolean: return "a boolean is neither t nor f";
      case resp_errc::bad_null: return "a null is followed by other characters";
      case resp_errc::bad_line_end: return "CR LF is missing, or CR or LF is alone";
      case resp_errc::bad_verbatim: return "a verbatim text does not begin with three letters and a colon";
      case resp_errc::misplaced_push: return "a push message is inside another value";
      case resp_errc::streamed: return "a value has an unknown length, which is not supported";
      case resp_errc::line_too_long: return "a line is longer than the limit";
      case resp_errc::too_deep: return "aggregates are nested deeper than the limit";
      case resp_errc::too_large: return "a reply is larger than the limit";
    }
    return "unknown RESP error";
  }
};

auto printable(unsigned char byte) -> std::string {
  static constexpr std::array<char, 17> digits{"0123456789abcdef"};
  if (byte > ' ' && byte < 0x7f) return {'`', static_cast<char>(byte), '`'};
  return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

}  // namespace

auto detail::resp_category() noexcept -> const std::error_category& {
  static const resp_errors instance;
  return instance;
}

namespace {

/// Constructs the error category when the library is loaded. If a thread constructed it during a fork, the guard of
/// this static object would stay locked in the child.
[[maybe_unused]] const std::error_category& resp_errors_made_early = detail::resp_category();

}  // namespace

auto make_error_code(resp_errc code) noexcept -> std::error_code {
  return {static_cast<int>(code), detail::resp_category()};
}

auto detail::resp_fault::to_text() const -> std::string {
  return "byte " + std::to_string(offset) + " of the reply, in a value that begins with " + printable(byte) + ": " +
         make_error_code(code).message();
}

}  // namespace braid
