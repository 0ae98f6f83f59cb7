// braid/net/http_status.hpp: the status of a response, and the phrase that goes with it.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace braid {

/// Any number from 100 to 999 may be cast to it. Source: RFC 9110, section 15.
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
  too_many_requests = 429,
  header_fields_too_large = 431,
  internal_server_error = 500,
  not_implemented = 501,
  bad_gateway = 502,
  service_unavailable = 503,
  gateway_timeout = 504,
  version_not_supported = 505,
};

/// `Not Found` for 404; empty for a number without a phrase. Threads: any.
[[nodiscard]] BRAID_API auto reason_phrase(http_status status) noexcept -> std::string_view;

namespace detail {

/// Whether it is one of 100 to 199, which are not the end of an answer.
[[nodiscard]] constexpr auto is_informational(http_status status) noexcept -> bool {
  return static_cast<int>(status) < 200;
}

/// Whether a response of this status never has a body, whatever its fields say.
[[nodiscard]] constexpr auto is_bodiless(http_status status) noexcept -> bool {
  return is_informational(status) || status == http_status::no_content || status == http_status::not_modified;
}

}  // namespace detail

}  // namespace braid
