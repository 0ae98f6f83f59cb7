// braid/net/resp_error.hpp: what can be wrong with bytes that should be RESP, and where.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace braid {

/// Why a parser of RESP refuses its input.
enum class resp_errc : std::uint8_t {
  unknown_type = 1,  ///< a value begins with a byte that names no type
  bad_number,        ///< an integer or a length is malformed or too great
  bad_real,          ///< a real is malformed
  bad_boolean,       ///< a boolean is neither t nor f
  bad_null,          ///< a null is followed by something
  bad_line_end,      ///< CR and LF are missing, or one stands alone
  bad_verbatim,      ///< a verbatim text has no format of three letters and a colon
  misplaced_push,    ///< a push stands inside of another value
  streamed,          ///< a value of unknown length: no server sends them
  line_too_long,     ///< a line is longer than the limit
  too_deep,          ///< aggregates are nested deeper than the limit
  too_large,         ///< a reply needs more memory than the limit, or is longer
};

/// The category of `resp_errc`; its messages are sentences. Threads: any.
BRAID_API auto resp_category() noexcept -> const std::error_category&;

/// Lets a `resp_errc` stand wherever a std::error_code is wanted.
BRAID_API auto make_error_code(resp_errc code) noexcept -> std::error_code;

/// A refusal and its place.
struct resp_fault {
  resp_errc code = resp_errc::unknown_type;
  std::uint64_t offset = 0;  ///< bytes of the reply before the place
  unsigned char byte = 0;    ///< the first byte of the current value

  /// "byte 12 of the reply, in a value that begins with `:`: a number is malformed or too great".
  [[nodiscard]] BRAID_API auto to_text() const -> std::string;
};

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::resp_errc> : std::true_type {};
