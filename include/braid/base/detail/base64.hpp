// braid/base/detail/base64.hpp: writes and reads base64.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace braid::detail {

/// The two alphabets of RFC 4648. They differ in the last two characters.
enum class base64_alphabet : std::uint8_t {
  standard,  ///< `+` and `/`
  url,       ///< `-` and `_`
};

/// Appends bytes as base64, padded with `=`.
BRAID_API void append_base64(std::string& out, std::string_view bytes, base64_alphabet alphabet);

/// Decodes base64 in either alphabet, with or without padding. Returns the bytes, which are stored in `room`, or
/// nothing if the text is malformed. Two different strings in the same alphabet, without padding, never decode to the
/// same bytes. Requires that `room` has space for 3 bytes for each 4 characters.
BRAID_API auto from_base64(std::string_view text, std::span<char> room) -> std::optional<std::string_view>;

}  // namespace braid::detail
