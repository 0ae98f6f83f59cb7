// rankd/store/detail/redis_failure.hpp: the stable error codes for failures of a Redis server.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace rankd::detail {

/// Returns the code for an error of a connection or a server: store_unreachable, store_timeout, store_not_ready,
/// store_unauthorized, store_overloaded, store_bad_reply or store_untrusted. Returns store_error for all other errors.
auto redis_failure_code(std::error_code error) noexcept -> std::string_view;

/// Returns the message for a failure of a server. If the message names a timeout, this is the timeout of the endpoint,
/// not the deadline of the request.
auto failure_text(std::error_code error) -> std::string;

/// Returns "the server says: NOPERM …", truncated to the maximum length of a message.
auto server_message(std::string_view error) -> std::string;

}  // namespace rankd::detail
