// src/net/http_error.cpp: defines the messages of HTTP errors, and the HTTP status for each error.
#include <braid/net/http_message.hpp>

#include <string>

namespace braid {
namespace {

class http_errors final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "braid.http"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    switch (static_cast<http_errc>(value)) {
      case http_errc::bad_start_line: return "the first line is not valid in HTTP/1";
      case http_errc::bad_version: return "the HTTP version is not 1";
      case http_errc::unknown_method: return "the method is unknown";
      case http_errc::bad_target: return "the target is not a valid part of a URI";
      case http_errc::target_too_long: return "the target is too long";
      case http_errc::bad_line_end: return "the head has a control character, or a line that does not end in CR LF";
      case http_errc::folded_field: return "a field continues on the next line";
      case http_errc::bad_field: return "a field is not NAME: VALUE";
      case http_errc::too_many_fields: return "there are too many fields";
      case http_errc::head_too_large: return "the head is too large";
      case http_errc::bad_host: return "there must be one Host field with a valid host";
      case http_errc::bad_length: return "Content-Length must be one number";
      case http_errc::length_and_encoding: return "Content-Length and Transfer-Encoding exclude each other";
      case http_errc::bad_encoding: return "the Transfer-Encoding does not determine where the body ends";
      case http_errc::unknown_encoding: return "the Transfer-Encoding is not chunked";
      case http_errc::unknown_expectation: return "the Expect field is not 100-continue";
      case http_errc::body_too_large: return "the body is too large";
      case http_errc::bad_chunk: return "a chunk is not SIZE CR LF DATA CR LF";
      case http_errc::trailers_too_large: return "the trailers are too large";
      case http_errc::forbidden_trailer: return "the field is not allowed as a trailer";
      case http_errc::truncated: return "the connection ended in the middle of a message";
      case http_errc::too_slow: return "the message did not arrive in time";
      case http_errc::reserved_field: return "the library writes this field itself";
      case http_errc::too_many_responses: return "the server sent a response without a request";
      case http_errc::too_many_redirects: return "there are too many redirects";
      case http_errc::no_answer: return "the handler ended without an answer: call reply, or begin and write";
      case http_errc::answered_twice:
        return "the handler answered a request twice: check http_exchange::answered() first";
      case http_errc::used_twice:
        return "two tasks of a handler read the body or wrote the answer at the same time: use one task for this";
      case http_errc::bad_url: return "not a valid URL: write http://host:port/path or https://…, without a user name";
      case http_errc::no_resolver: return "the client has no resolver for host names: set http_client::options::names";
      case http_errc::no_http2:
        return "libnghttp2 cannot be loaded, and HTTP/2 needs it: install it (Debian: libnghttp2-14)";
      case http_errc::bad_frame: return "the peer violates HTTP/2, or sends many useless frames";
      case http_errc::refused_stream: return "the server has refused the request before it processed any of it";
      case http_errc::reset_stream: return "the server has reset the stream before its answer was complete";
      case http_errc::speaks_http1:
        return "the server uses HTTP/1, but the client uses HTTP/2 without negotiation (http2_use::known)";
    }
    return "unknown HTTP error";
  }

  [[nodiscard]] auto default_error_condition(int value) const noexcept -> std::error_condition override {
    if (static_cast<http_errc>(value) == http_errc::too_slow) return std::errc::timed_out;
    return {value, *this};
  }
};

}  // namespace

auto detail::http_category() noexcept -> const std::error_category& {
  static const http_errors instance;
  return instance;
}

namespace {

/// Constructs the error category when the library is loaded. If a thread constructed it during a fork, the guard of
/// this static object would stay locked in the child.
[[maybe_unused]] const std::error_category& http_errors_made_early = detail::http_category();

}  // namespace

auto make_error_code(http_errc code) noexcept -> std::error_code {
  return {static_cast<int>(code), detail::http_category()};
}

auto status_of(http_errc code) noexcept -> http_status {
  switch (code) {
    case http_errc::bad_version: return http_status::version_not_supported;
    case http_errc::unknown_method:
    case http_errc::unknown_encoding: return http_status::not_implemented;
    case http_errc::target_too_long: return http_status::uri_too_long;
    case http_errc::too_many_fields:
    case http_errc::trailers_too_large:
    case http_errc::head_too_large: return http_status::header_fields_too_large;
    case http_errc::unknown_expectation: return http_status::expectation_failed;
    case http_errc::body_too_large: return http_status::content_too_large;
    case http_errc::too_slow: return http_status::request_timeout;
    case http_errc::reserved_field:
    case http_errc::too_many_responses:
    case http_errc::too_many_redirects:
    case http_errc::bad_url:
    case http_errc::no_resolver:
    case http_errc::answered_twice:
    case http_errc::used_twice:
    case http_errc::no_http2:
    case http_errc::refused_stream:
    case http_errc::reset_stream:
    case http_errc::speaks_http1:
    case http_errc::no_answer: return http_status::internal_server_error;
    default: return http_status::bad_request;
  }
}

}  // namespace braid
