// rankd/engine/detail/plain_request.hpp: fast path for the usual short requests: parses user_id, request_id and plan
// without a tree of JSON values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankd::detail {

/// The texts are views into the request.
struct plain_request {
  std::int64_t user_id = 0;  ///< at least 1
  std::optional<std::string_view> request_id;
  std::optional<std::string_view> plan;
};

/// Parses a request that is certainly valid without further checks: an object with a user_id that is an integer, and
/// optionally a request_id and a plan, each once and of printable ASCII without escapes. Returns nothing for all other
/// requests, valid or not.
[[nodiscard]] auto read_plain_request(std::string_view text) noexcept -> std::optional<plain_request>;

}  // namespace rankd::detail
