// rankd/store/detail/redis_failure.hpp: the stable codes of what can go wrong with a Redis server.
#pragma once

#include <string_view>
#include <system_error>

namespace rankd::detail {

/// store_unreachable, store_timeout, store_not_ready, store_unauthorized, store_overloaded, store_bad_reply;
/// store_error for all others.
auto redis_failure_code(std::error_code why) noexcept -> std::string_view;

}  // namespace rankd::detail
