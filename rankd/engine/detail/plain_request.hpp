// rankd/engine/detail/plain_request.hpp: a fast parser for short requests that contain only user_id, request_id and
// plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankd::detail {

/// The fields of a plain request. The texts are views into the request.
struct plain_request {
  std::int64_t user_id = 0;  ///< at least 1
  std::optional<std::string_view> request_id;
  std::optional<std::string_view> plan;
};

/// Parses a request that needs no further checks: an object with an integer user_id, and optionally a request_id and a
/// plan, each at most once. The strings must be printable ASCII without escapes. Returns nothing for all other
/// requests, including valid ones.
[[nodiscard]] auto read_plain_request(std::string_view text) noexcept -> std::optional<plain_request>;

}  // namespace rankd::detail
