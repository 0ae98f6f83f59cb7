// braid/net/detail/http_encoder.hpp: encodes heads and chunks of messages, and refuses values that could inject other
// messages.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace braid::detail {

/// What the head of a message says about whether the connection stays open after the message.
enum class http_persistence : std::uint8_t {
  unsaid,      ///< not written, because persistence is the default of HTTP/1.1
  keep_alive,  ///< sent, for clients of HTTP/1.0
  close,
};

/// The content of the head of a response.
struct http_response_start {
  http_status status = http_status::ok;
  http_framing body = {};  ///< `none` writes a length of 0, unless the status has no body
  http_persistence connection = http_persistence::unsaid;
  std::string_view date = {};  ///< the text that `http_date` returns; not written if empty
  std::string_view type = {};  ///< the value of Content-Type; empty: not written here
  std::span<const http_fields::field> fields = {};
};

/// The content of the head of a request.
struct http_request_start {
  http_method method = http_method::get;
  std::string_view target = "/";
  std::string_view host = {};
  http_framing body = {};  ///< `none` writes a length of 0 if the method usually has a body
  http_persistence connection = http_persistence::unsaid;
  std::span<const http_fields::field> fields = {};
};

/// Appends the head of a response or a request to `out`.
/// Errors: bad_field for an invalid name or value, such as a value with a line end; reserved_field for fields that are
/// written automatically (Content-Length, Transfer-Encoding, Connection, Date, Host); bad_target; bad_host. After an
/// error, `out` is unchanged.
[[nodiscard]] BRAID_API auto append_head(std::string& out, const http_response_start& start)
    -> std::expected<void, http_errc>;
[[nodiscard]] BRAID_API auto append_head(std::string& out, const http_request_start& start)
    -> std::expected<void, http_errc>;

/// Checks whether `append_head` would accept a field.
/// Errors: bad_field, reserved_field.
[[nodiscard]] BRAID_API auto check_field(http_fields::field field) noexcept -> std::expected<void, http_errc>;

/// Appends `data` as a chunk. Appends nothing if `data` is empty, because an empty chunk ends the body. Errors:
/// std::bad_alloc.
BRAID_API void append_chunk(std::string& out, std::string_view data);

/// Appends the line that precedes the data of a chunk. The caller must append the data and then CR LF.
/// Errors: std::bad_alloc.
BRAID_API void append_chunk_size(std::string& out, std::size_t size);

/// Appends the end of a chunked body. Errors: the errors of `append_head`.
[[nodiscard]] BRAID_API auto append_last_chunk(std::string& out, std::span<const http_fields::field> trailers = {})
    -> std::expected<void, http_errc>;

}  // namespace braid::detail
