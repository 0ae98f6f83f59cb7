// rankd/server/grpc/grpc_frame.hpp: the framing of messages, their compression, and the timeout of a call.
#pragma once

#include <rankd/server/endpoints/error_answer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace rankd {

/// The compression of messages.
enum class grpc_encoding : std::uint8_t { identity, gzip };

/// Parses the value of grpc-encoding. Returns nothing for an encoding that this server does not support.
[[nodiscard]] auto parse_grpc_encoding(std::string_view text) noexcept -> std::optional<grpc_encoding>;

/// Parses the value of grpc-timeout: 1 to 8 digits and a unit (H, M, S, m, u or n). Rounds up to milliseconds. Returns
/// at most 24 hours, which is the longest deadline of a request. Returns nothing if the text is invalid.
[[nodiscard]] auto parse_grpc_timeout(std::string_view text) noexcept -> std::optional<std::chrono::milliseconds>;

/// The reason why a message could not be read, as the answer that HTTP would give.
struct grpc_fault {
  braid::http_status status = braid::http_status::bad_request;
  std::string_view code;
  std::string message;
};

/// Returns the size of the first message including its prefix. Returns nothing if the prefix is not complete.
[[nodiscard]] auto grpc_frame_bytes(std::string_view text) noexcept -> std::optional<std::size_t>;

/// Returns the only message of a body, decompressed. `max_bytes` limits its size.
/// Errors: bad_frame for a body that is not exactly one complete message, and for a message that is compressed although
/// the call has no grpc-encoding; body_too_large.
[[nodiscard]] auto read_grpc_message(std::string_view body, grpc_encoding encoding, std::size_t max_bytes)
    -> std::expected<std::string, grpc_fault>;

/// Appends a message with its prefix of 5 bytes. Requires a message of less than 4 GiB. Errors: std::bad_alloc.
void append_grpc_message(std::string& out, std::string_view message, grpc_encoding encoding);

}  // namespace rankd
