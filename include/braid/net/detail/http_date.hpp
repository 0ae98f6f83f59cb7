// braid/net/detail/http_date.hpp: formats times for HTTP fields.
#pragma once

#include <braid/base/config.hpp>

#include <chrono>
#include <string>

namespace braid::detail {

/// Formats a time as in `Sun, 06 Nov 1994 08:49:37 GMT`. Source: RFC 9110, section 5.6.7. Threads: any. Errors:
/// std::bad_alloc.
[[nodiscard]] BRAID_API auto http_date(std::chrono::sys_seconds moment) -> std::string;

}  // namespace braid::detail
