// src/net/http2.hpp: serving a connection that speaks HTTP/2.
#pragma once

#include "http_service.hpp"

#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace braid::detail {

/// What a client sends first on a connection of HTTP/2. Source: RFC 9113, section 3.4.
inline constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether a connection begins with HTTP/2.
enum class http2_guess : std::uint8_t { no, yes, more };

/// Returns what the first bytes of a connection say; `more` if they are a part of the preface.
[[nodiscard]] auto guess_http2(std::string_view input) noexcept -> http2_guess;

/// Returns whether connections of that server may speak HTTP/2: it is enabled, and libnghttp2 can be loaded.
[[nodiscard]] auto speaks_http2(const http_service& service) -> bool;

/// Serves until either side is done. `received` are bytes that were read from the stream before. Requires
/// `speaks_http2`.
[[nodiscard]] auto serve_http2(http_service& service, stream_socket stream, std::string received) -> task<void>;
[[nodiscard]] auto serve_http2(http_service& service, tls_stream stream, std::string received) -> task<void>;

}  // namespace braid::detail
