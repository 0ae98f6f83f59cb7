// braid/net/http_message.hpp: the parts of HTTP messages: methods, statuses, fields, heads, errors.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/net/detail/http_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace braid {

/// The method of a request. CONNECT and TRACE are not supported, because the library does not implement a proxy.
enum class http_method : std::uint8_t { get, head, post, put, delete_, patch, options };

namespace detail {

/// The number of methods.
inline constexpr std::uint8_t http_methods = 7;

}  // namespace detail

/// Returns the name of a method, such as `GET`. Threads: any.
[[nodiscard]] BRAID_API auto name_of(http_method method) noexcept -> std::string_view;

namespace detail {

/// Returns the method with that name, or nothing if the name is unknown. Names are case-sensitive. Threads: any.
[[nodiscard]] BRAID_API auto method_named(std::string_view name) noexcept -> std::optional<http_method>;

/// Returns whether repeating a request with this method has no further effect.
/// Source: RFC 9110, section 9.2.2.
[[nodiscard]] constexpr auto is_idempotent(http_method method) noexcept -> bool {
  return method != http_method::post && method != http_method::patch;
}

}  // namespace detail

/// The status of a response. Any number from 100 to 999 may be cast to this type. Source: RFC 9110, section 15.
enum class http_status : std::uint16_t {
  continue_ = 100,
  switching_protocols = 101,
  ok = 200,
  created = 201,
  accepted = 202,
  no_content = 204,
  partial_content = 206,
  moved_permanently = 301,
  found = 302,
  see_other = 303,
  not_modified = 304,
  temporary_redirect = 307,
  permanent_redirect = 308,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  request_timeout = 408,
  conflict = 409,
  gone = 410,
  length_required = 411,
  precondition_failed = 412,
  content_too_large = 413,
  uri_too_long = 414,
  unsupported_media_type = 415,
  range_not_satisfiable = 416,
  expectation_failed = 417,
  unprocessable_content = 422,
  upgrade_required = 426,
  too_many_requests = 429,
  header_fields_too_large = 431,
  internal_server_error = 500,
  not_implemented = 501,
  bad_gateway = 502,
  service_unavailable = 503,
  gateway_timeout = 504,
  version_not_supported = 505,
};

/// Returns the phrase of a status, such as `Not Found` for 404, or an empty string if the status has no phrase.
/// Threads: any.
[[nodiscard]] BRAID_API auto reason_phrase(http_status status) noexcept -> std::string_view;

namespace detail {

/// Returns whether the status is between 100 and 199. Another response follows such a response.
[[nodiscard]] constexpr auto is_informational(http_status status) noexcept -> bool {
  return static_cast<int>(status) < 200;
}

/// Returns whether a response with this status never has a body, regardless of its fields.
[[nodiscard]] constexpr auto is_bodiless(http_status status) noexcept -> bool {
  return is_informational(status) || status == http_status::no_content || status == http_status::not_modified;
}

}  // namespace detail

/// The reasons why a message is refused. A server answers each reason with a fixed status: see `status_of`.
enum class http_errc {
  bad_start_line = 1,   ///< not `METHOD target HTTP/1.x`, or not `HTTP/1.x NNN reason`
  bad_version,          ///< an HTTP version other than 1.x
  unknown_method,       ///< a method that the library does not support
  bad_target,           ///< the target contains characters that no URI may contain, or is not allowed for this method
  target_too_long,      ///< longer than `http_limits::target_bytes`
  bad_line_end,         ///< the head has a control character, or a line that does not end in CR LF
  folded_field,         ///< a field that continues on the next line
  bad_field,            ///< a field without a name, or with white space before its colon
  too_many_fields,      ///< more than `http_limits::fields`
  head_too_large,       ///< longer than `http_limits::head_bytes`
  bad_host,             ///< HTTP/1.1 without the field Host, several such fields, or an invalid host
  bad_length,           ///< a Content-Length that is not a number, or several such fields
  length_and_encoding,  ///< both Content-Length and Transfer-Encoding
  bad_encoding,         ///< the Transfer-Encoding leaves the end of the body unknown
  unknown_encoding,     ///< a Transfer-Encoding other than chunked
  unknown_expectation,  ///< an Expect other than 100-continue
  body_too_large,       ///< longer than `http_limits::body_bytes`
  bad_chunk,            ///< a chunk without a proper size, extension or end
  trailers_too_large,   ///< longer than the head of a message may be
  forbidden_trailer,    ///< a field that must not follow the body
  truncated,            ///< the connection ended in the middle of a message
  too_slow,             ///< the message did not arrive in time; equals std::errc::timed_out
  reserved_field,       ///< a field that the library itself writes
  too_many_responses,   ///< endless informational responses, or a response without a request
  too_many_redirects,   ///< more than `http_client::options::redirects`
  no_resolver,          ///< the URL names a host, and `http_client::options::names` is not set
  bad_url,              ///< the text is not a URL of http or https
  no_answer,            ///< a handler ended without `reply` and `begin`; its client gets 500
  answered_twice,       ///< a handler called `reply` or `begin` although the answer had begun
  used_twice,           ///< two tasks of a handler read the body, or write the answer, at the same time
  no_http2,             ///< HTTP/2 without TLS was chosen, and libnghttp2 cannot be loaded
  bad_frame,            ///< the peer violates HTTP/2, or sends many frames that request and answer nothing
  refused_stream,       ///< the server has refused an HTTP/2 request before it processed any of it
  reset_stream,         ///< the server has reset the HTTP/2 stream before its answer was complete
  speaks_http1,         ///< a server that was called by HTTP/2 without negotiation answers by HTTP/1
};

namespace detail {

/// Returns the category of `http_errc`; its messages are sentences. Threads: any.
BRAID_API auto http_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts an `http_errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(http_errc code) noexcept -> std::error_code;

/// Returns the status with which a server answers a request that it refuses for this reason.
/// Threads: any.
BRAID_API auto status_of(http_errc code) noexcept -> http_status;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::http_errc> : std::true_type {};

namespace braid {

namespace detail {

/// The position of a field in the parsed text, as offsets, because the address of the text may still change.
struct http_field_span {
  std::uint32_t name_at = 0;
  std::uint32_t name_size = 0;
  std::uint32_t value_at = 0;
  std::uint32_t value_size = 0;
};

}  // namespace detail

/// The fields of a message in the order in which they arrived.
/// Lifetime: this is a view of the parsed text; the function that returns it documents how long the text is valid.
/// Threads: any, while the text is valid. Cost: no copy of the text.
class http_fields {
 public:
  /// A field, which has the form `name: value` in a message. Names are compared without regard to case.
  struct field {
    std::string_view name;
    std::string_view value;
  };

  http_fields() = default;
  http_fields(const char* text, std::span<const detail::http_field_span> places) noexcept
      : text_(text), places_(places) {}

  [[nodiscard]] auto size() const noexcept -> std::size_t { return places_.size(); }
  [[nodiscard]] auto empty() const noexcept -> bool { return places_.empty(); }
  [[nodiscard]] auto operator[](std::size_t index) const noexcept -> field {
    const detail::http_field_span& at = places_[index];
    return {{text_ + at.name_at, at.name_size}, {text_ + at.value_at, at.value_size}};
  }

  /// Returns the value of the first field with that name. Cost: linear in the number of fields.
  [[nodiscard]] BRAID_API auto find(std::string_view name) const noexcept -> std::optional<std::string_view>;
  /// Returns the number of fields with that name.
  [[nodiscard]] BRAID_API auto count(std::string_view name) const noexcept -> std::size_t;

  class iterator;
  [[nodiscard]] auto begin() const noexcept -> iterator;
  [[nodiscard]] auto end() const noexcept -> iterator;

 private:
  const char* text_ = nullptr;
  std::span<const detail::http_field_span> places_;
};

class http_fields::iterator {
 public:
  using value_type = http_fields::field;
  using difference_type = std::ptrdiff_t;

  iterator() = default;
  iterator(const http_fields& fields, std::size_t index) noexcept : fields_(&fields), index_(index) {}
  auto operator*() const noexcept -> http_fields::field { return (*fields_)[index_]; }
  auto operator++() noexcept -> iterator& {
    ++index_;
    return *this;
  }
  auto operator++(int) noexcept -> iterator {
    iterator before = *this;
    ++index_;
    return before;
  }
  auto operator==(const iterator& other) const noexcept -> bool { return index_ == other.index_; }

 private:
  const http_fields* fields_ = nullptr;
  std::size_t index_ = 0;
};

inline auto http_fields::begin() const noexcept -> iterator { return {*this, 0}; }
inline auto http_fields::end() const noexcept -> iterator { return {*this, size()}; }

namespace detail {

/// Returns whether two field names are equal, ignoring case.
/// Threads: any.
[[nodiscard]] BRAID_API auto same_name(std::string_view a, std::string_view b) noexcept -> bool;

}  // namespace detail

/// The limits of a message. If a message exceeds a limit, it is refused before the excess is stored.
struct http_limits {
  std::size_t target_bytes = 8 * 1024;
  std::size_t head_bytes = 16 * 1024;  ///< from the first byte to the empty line; trailers have the same limit
  std::size_t fields = 100;            ///< the maximum number of fields; trailers have the same limit
  std::uint64_t body_bytes = 1024 * 1024;
};

/// How the end of a body is determined.
struct http_framing {
  enum class kind : std::uint8_t {
    none,         ///< there is no body
    length,       ///< the body ends after its length in bytes
    chunked,      ///< each piece states its size
    until_close,  ///< the body ends with the connection; in responses only
  };

  kind how = kind::none;
  std::uint64_t length = 0;  ///< the length for `length`

  friend auto operator==(const http_framing&, const http_framing&) -> bool = default;
};

/// The head of a request. Lifetime: the head contains views into the parsed bytes.
struct http_request_head {
  http_method method = http_method::get;
  std::string_view target;  ///< the target as it was received
  std::string_view path;    ///< `/` at least, or `*`; percent signs and dots as they were received
  std::string_view query;   ///< after the first question mark
  /// The host. It is taken from the target if the target is absolute, otherwise from the Host field. It is empty if an
  /// HTTP/1.0 request names no host.
  std::string_view host;
  int minor_version = 1;  ///< 0 for HTTP/1.0, otherwise 1
  http_fields fields;
  http_framing body;
  bool keep_alive = true;         ///< the client wants to send further requests
  bool expects_continue = false;  ///< the client waits for 100 before it sends the body
};

/// The head of a response. Lifetime: the head contains views into the parsed bytes.
struct http_response_head {
  http_status status = http_status::ok;
  std::string_view reason;
  int minor_version = 1;
  http_fields fields;
  http_framing body;
  bool keep_alive = true;  ///< the server will accept further requests
};

}  // namespace braid
