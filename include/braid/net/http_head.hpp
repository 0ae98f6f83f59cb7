// braid/net/http_head.hpp: what stands before the body of a request or a response, and how large it may be.
#pragma once

#include <braid/net/http_fields.hpp>
#include <braid/net/http_method.hpp>
#include <braid/net/http_status.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace braid {

/// What exceeds one of these is refused before it is kept.
struct http_limits {
  std::size_t target_bytes = 8 * 1024;
  std::size_t head_bytes = 16 * 1024;  ///< from the first byte to the empty line; the same again for trailers
  std::size_t fields = 100;            ///< the same again for trailers
  std::uint64_t body_bytes = 1024 * 1024;
};

/// How the end of a body is known.
struct http_framing {
  enum class kind : std::uint8_t {
    none,         ///< there is no body
    length,       ///< it has so many bytes
    chunked,      ///< each piece says how long it is
    until_close,  ///< it goes on to the end of the connection; in responses only
  };

  kind how = kind::none;
  std::uint64_t length = 0;  ///< for `length`

  friend auto operator==(const http_framing&, const http_framing&) -> bool = default;
};

/// The head of a request. Lifetime: views into what was parsed.
struct http_request_head {
  http_method method = http_method::get;
  std::string_view target;  ///< as it came
  std::string_view path;    ///< `/` at least, or `*`; percent signs and dots as they came
  std::string_view query;   ///< behind the first question mark
  std::string_view host;    ///< of an absolute target, else the field's; empty where HTTP/1.0 has none
  int minor_version = 1;    ///< 0 for HTTP/1.0, otherwise 1
  http_fields fields;
  http_framing body;
  bool keep_alive = true;         ///< the client wants to send further requests
  bool expects_continue = false;  ///< the client waits for 100 before it sends the body
};

/// The head of a response. Lifetime: views into what was parsed.
struct http_response_head {
  http_status status = http_status::ok;
  std::string_view reason;
  int minor_version = 1;
  http_fields fields;
  http_framing body;
  bool keep_alive = true;  ///< the server will take further requests
};

}  // namespace braid
