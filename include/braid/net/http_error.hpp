// braid/net/http_error.hpp: what can be wrong with an HTTP message, as std::error_code, and the status that answers it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/net/http_status.hpp>

#include <system_error>

namespace braid {

/// Why a message is refused. Each has one status that a server answers it with.
enum class http_errc {
  bad_start_line = 1,   ///< not `METHOD target HTTP/1.x`, or not `HTTP/1.x NNN reason`
  bad_version,          ///< of a version other than 1.x
  unknown_method,       ///< a method that the library does not know
  bad_target,           ///< the target holds what no URI does, or is none for this method
  target_too_long,      ///< longer than `http_limits::target_bytes`
  bad_line_end,         ///< a control character, or a line that does not end in CR LF
  folded_field,         ///< a field that goes on in the next line
  bad_field,            ///< a field without a name, or with white space before its colon
  too_many_fields,      ///< more than `http_limits::fields`
  head_too_large,       ///< longer than `http_limits::head_bytes`
  bad_host,             ///< no Host in HTTP/1.1, several, or one that names no host
  bad_length,           ///< a Content-Length that is no number, or several
  length_and_encoding,  ///< both Content-Length and Transfer-Encoding
  bad_encoding,         ///< a Transfer-Encoding after which it is unknown where the body ends
  unknown_encoding,     ///< a Transfer-Encoding other than chunked
  unknown_expectation,  ///< an Expect other than 100-continue
  body_too_large,       ///< longer than `http_limits::body_bytes`
  bad_chunk,            ///< a chunk without a proper size, extension or end
  trailers_too_large,   ///< longer than the head of a message may be
  forbidden_trailer,    ///< a field that must not come after the body
  truncated,            ///< the connection ended in the middle of a message
  too_slow,             ///< the message did not come in time; equals std::errc::timed_out
  reserved_field,       ///< a field that the library itself writes
  too_many_responses,   ///< informational responses without end, or one that no caller asked for
  too_many_redirects,   ///< more than `http_client_options::redirects`
  no_resolver,          ///< the URL names a host, and `http_client_options::names` is not set
  bad_url,              ///< the text is no URL of http or https
};

/// The category of `http_errc`; its messages are sentences. Threads: any.
BRAID_API auto http_category() noexcept -> const std::error_category&;

/// Lets an `http_errc` stand wherever a std::error_code is wanted.
BRAID_API auto make_error_code(http_errc code) noexcept -> std::error_code;

/// What a server answers to a request that is refused for this reason. Threads: any.
BRAID_API auto status_of(http_errc code) noexcept -> http_status;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::http_errc> : std::true_type {};
