// rankd/server/grpc/grpc_status.hpp: the status of a gRPC call, made from the answer that HTTP would send.
#pragma once

#include <rankd/server/endpoints/error_answer.hpp>

#include <braid/net/http_message.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The Content-Type of gRPC.
inline constexpr std::string_view grpc_type = "application/grpc";

/// Returns whether a Content-Type is that of gRPC. Accepts every message format, as in `application/grpc+proto`.
[[nodiscard]] constexpr auto is_grpc_type(std::string_view type) noexcept -> bool {
  return type.starts_with(grpc_type);
}

/// The gRPC status codes that this server sends. Source: grpc/doc/statuscodes.md.
enum class grpc_code : std::uint8_t {
  ok = 0,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

/// Returns the gRPC status code for an HTTP status.
[[nodiscard]] auto to_grpc_code(braid::http_status status) noexcept -> grpc_code;

/// Encodes a message for the field grpc-message. The character `%` and bytes that are not printable ASCII become `%XX`.
[[nodiscard]] auto grpc_message_text(std::string_view message) -> std::string;

/// Encodes bytes in base64 without padding, as fields that end in `-bin` contain them.
[[nodiscard]] auto grpc_binary_text(std::string_view bytes) -> std::string;

/// The header fields at the end of a failed call.
struct grpc_failure {
  grpc_code code = grpc_code::internal;
  std::string message;  ///< not encoded
  std::string details;  ///< a serialized google.rpc.Status, which contains a rankd.v1.Error
};

/// Returns the status for an answer that reports an error.
[[nodiscard]] auto to_grpc_failure(const error_answer& error) -> grpc_failure;

/// Returns the fields of an answer that reports an error to a client of gRPC. The answer has the HTTP status 200, the
/// Content-Type of gRPC, and no body.
[[nodiscard]] auto grpc_failure_fields(const error_answer& error) -> std::vector<std::pair<std::string, std::string>>;

}  // namespace rankd
