// src/net/http_status.cpp: defines the reason phrases of the HTTP statuses.
#include <braid/net/http_message.hpp>

namespace braid {

auto reason_phrase(http_status status) noexcept -> std::string_view {
  switch (status) {
    case http_status::continue_: return "Continue";
    case http_status::switching_protocols: return "Switching Protocols";
    case http_status::ok: return "OK";
    case http_status::created: return "Created";
    case http_status::accepted: return "Accepted";
    case http_status::no_content: return "No Content";
    case http_status::partial_content: return "Partial Content";
    case http_status::moved_permanently: return "Moved Permanently";
    case http_status::found: return "Found";
    case http_status::see_other: return "See Other";
    case http_status::not_modified: return "Not Modified";
    case http_status::temporary_redirect: return "Temporary Redirect";
    case http_status::permanent_redirect: return "Permanent Redirect";
    case http_status::bad_request: return "Bad Request";
    case http_status::unauthorized: return "Unauthorized";
    case http_status::forbidden: return "Forbidden";
    case http_status::not_found: return "Not Found";
    case http_status::method_not_allowed: return "Method Not Allowed";
    case http_status::not_acceptable: return "Not Acceptable";
    case http_status::request_timeout: return "Request Timeout";
    case http_status::conflict: return "Conflict";
    case http_status::gone: return "Gone";
    case http_status::length_required: return "Length Required";
    case http_status::precondition_failed: return "Precondition Failed";
    case http_status::content_too_large: return "Content Too Large";
    case http_status::uri_too_long: return "URI Too Long";
    case http_status::unsupported_media_type: return "Unsupported Media Type";
    case http_status::range_not_satisfiable: return "Range Not Satisfiable";
    case http_status::expectation_failed: return "Expectation Failed";
    case http_status::unprocessable_content: return "Unprocessable Content";
    case http_status::upgrade_required: return "Upgrade Required";
    case http_status::too_many_requests: return "Too Many Requests";
    case http_status::header_fields_too_large: return "Request Header Fields Too Large";
    case http_status::internal_server_error: return "Internal Server Error";
    case http_status::not_implemented: return "Not Implemented";
    case http_status::bad_gateway: return "Bad Gateway";
    case http_status::service_unavailable: return "Service Unavailable";
    case http_status::gateway_timeout: return "Gateway Timeout";
    case http_status::version_not_supported: return "HTTP Version Not Supported";
  }
  return {};
}

}  // namespace braid
