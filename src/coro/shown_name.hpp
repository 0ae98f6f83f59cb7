// src/coro/shown_name.hpp: escapes names of the program for one line of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace braid::detail {

/// Returns the name with line ends and other control characters escaped as `\x0a`, so that a name cannot add lines.
/// Errors: std::bad_alloc.
[[nodiscard]] inline auto shown_name(std::string_view name) -> std::string {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  for (const char each : name) {
    const auto code = static_cast<std::uint8_t>(each);
    if (code >= 0x20 && code != 0x7F)
      shown += each;
    else
      (((shown += "\\x") += digits[code >> 4U]) += digits[code & 15U]);
  }
  return shown;
}

}  // namespace braid::detail
