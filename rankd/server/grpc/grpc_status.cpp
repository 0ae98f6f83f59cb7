// rankd/server/grpc/grpc_status.cpp: maps HTTP statuses to gRPC codes, and formats the fields of a gRPC status.
#include <rankd/server/grpc/grpc_status.hpp>

#include <rankd/server/grpc/grpc_messages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

#include <standard.pb.h>

namespace rankd {
namespace {

using braid::http_status;

struct status_code {
  http_status status;
  grpc_code code;
};

/// The gRPC codes for all HTTP statuses with which `rankd serve` answers. For all other statuses, the code is
/// `unknown`.
constexpr std::array grpc_codes{
    status_code{http_status::ok, grpc_code::ok},
    status_code{http_status::bad_request, grpc_code::invalid_argument},
    status_code{http_status::unauthorized, grpc_code::unauthenticated},
    status_code{http_status::forbidden, grpc_code::permission_denied},
    status_code{http_status::not_found, grpc_code::not_found},
    status_code{http_status::method_not_allowed, grpc_code::unimplemented},
    status_code{http_status::request_timeout, grpc_code::deadline_exceeded},
    status_code{http_status::content_too_large, grpc_code::resource_exhausted},
    status_code{http_status::uri_too_long, grpc_code::invalid_argument},
    status_code{http_status::unsupported_media_type, grpc_code::unimplemented},
    status_code{http_status::expectation_failed, grpc_code::invalid_argument},
    status_code{http_status::unprocessable_content, grpc_code::failed_precondition},
    status_code{http_status::too_many_requests, grpc_code::resource_exhausted},
    status_code{http_status::header_fields_too_large, grpc_code::resource_exhausted},
    status_code{http_status::internal_server_error, grpc_code::internal},
    status_code{http_status::not_implemented, grpc_code::unimplemented},
    status_code{http_status::bad_gateway, grpc_code::internal},
    status_code{http_status::service_unavailable, grpc_code::unavailable},
    status_code{http_status::gateway_timeout, grpc_code::deadline_exceeded},
    status_code{http_status::version_not_supported, grpc_code::unimplemented},
};

// Clients refuse answers whose fields are too large: the gRPC libraries accept at least 8 KiB.
constexpr std::size_t max_message = 1024;
constexpr std::size_t max_details = 3072;

/// Returns the beginning of a UTF-8 text. Does not cut a character in two.
auto cut_text(std::string_view text, std::size_t max_bytes) -> std::string_view {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0U) == 0x80U) --max_bytes;
  return text.substr(0, max_bytes);
}

}  // namespace

auto to_grpc_code(http_status status) noexcept -> grpc_code {
  const auto* const found = std::ranges::find(grpc_codes, status, &status_code::status);
  return found == grpc_codes.end() ? grpc_code::unknown : found->code;
}

auto grpc_message_text(std::string_view message) -> std::string {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(message.size());
  for (const char each : message) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      out += each;
    } else {
      out += '%';
      out += digits[byte / 16U];
      out += digits[byte % 16U];
    }
  }
  return out;
}

auto grpc_binary_text(std::string_view bytes) -> std::string {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char each : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(each);
    for (count += 8; count >= 6; count -= 6) out += digits[bits >> (count - 6) & 0x3FU];
  }
  if (count > 0) out += digits[bits << (6 - count) & 0x3FU];
  return out;
}

auto to_grpc_failure(const error_answer& error) -> grpc_failure {
  v1::Error detail = to_message(error);
  detail.set_message(std::string(cut_text(detail.message(), max_message)));
  if (detail.ByteSizeLong() > max_details) detail.clear_diagnostics_json();
  rankd::grpc::Status status;
  status.set_code(detail.status());
  status.set_message(detail.message());
  rankd::grpc::Any& any = *status.add_details();
  any.set_type_url("type.googleapis.com/rankd.v1.Error");
  any.set_value(detail.SerializeAsString());
  return {.code = to_grpc_code(error.status), .message = detail.message(), .details = status.SerializeAsString()};
}

auto grpc_failure_fields(const error_answer& error) -> std::vector<std::pair<std::string, std::string>> {
  const grpc_failure failure = to_grpc_failure(error);
  return {{"grpc-status", std::to_string(static_cast<unsigned>(failure.code))},
          {"grpc-message", grpc_message_text(failure.message)},
          {"grpc-status-details-bin", grpc_binary_text(failure.details)}};
}

}  // namespace rankd
