// braid/base/detail/counted.hpp: writes a count with its noun, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace braid::detail {

/// Returns a count with its noun, such as "1 record" or "2 records". Pass `plural` if the plural of the noun is not
/// formed by appending an s.
inline auto counted(std::uint64_t count, std::string_view noun, std::string_view plural = {}) -> std::string {
  std::string out = std::to_string(count) + " ";
  if (count != 1 && !plural.empty()) return out.append(plural);
  return out.append(noun).append(count == 1 ? "" : "s");
}

}  // namespace braid::detail
