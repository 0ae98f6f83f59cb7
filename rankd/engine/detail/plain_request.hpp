// rankd/engine/detail/plain_request.hpp: fast path for the usual short requests: user_id, request_id, plan, read
// without a tree of JSON values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rankd::detail {

/// Texts lie in the request.
struct plain_request {
  std::int64_t user_id = 0;  ///< at least 1
  std::optional<std::string_view> request_id;
  std::optional<std::string_view> plan;
};

/// A request that is certainly valid, without another check: an object with a user_id that is an
/// integer, and perhaps a request_id and a plan, each once and of printable ASCII without escapes. Nothing for all
/// others, right and wrong ones.
[[nodiscard]] auto read_plain_request(std::string_view text) noexcept -> std::optional<plain_request>;

}  // namespace rankd::detail
