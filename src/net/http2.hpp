// src/net/http2.hpp: serves a connection whose client speaks HTTP/2.
#pragma once

#include "http_service.hpp"

#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace braid::detail {

/// The first bytes that a client sends on an HTTP/2 connection. Source: RFC 9113, section 3.4.
inline constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Says whether a connection begins with the preface of HTTP/2. The value is `more` if too few bytes have arrived to
/// decide.
enum class http2_guess : std::uint8_t { no, yes, more };

/// Returns whether the first bytes of a connection are the preface, or `more` if they are only the beginning of the
/// preface.
[[nodiscard]] auto guess_http2(std::string_view input) noexcept -> http2_guess;

/// Returns whether connections of a server may use HTTP/2: the option is enabled, and libnghttp2 can be loaded.
[[nodiscard]] auto speaks_http2(const http_service& service) -> bool;

/// Serves requests until either side ends the connection. `received` contains the bytes that were already read from the
/// stream. Requires that `speaks_http2(service)` is true.
[[nodiscard]] auto serve_http2(http_service& service, stream_socket stream, std::string received) -> task<void>;
[[nodiscard]] auto serve_http2(http_service& service, tls_stream stream, std::string received) -> task<void>;

}  // namespace braid::detail
