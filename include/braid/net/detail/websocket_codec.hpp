// braid/net/detail/websocket_codec.hpp: parses and writes frames of the WebSocket protocol (RFC 6455), without any I/O.
#pragma once

#include <braid/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace braid::detail {

enum class websocket_opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// The close codes that the server itself sends.
enum class websocket_code : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  not_utf8 = 1007,
  too_large = 1009,
  internal_error = 1011,
};
/// The code that stands for a missing close frame, or for a close frame without a code.
inline constexpr std::uint16_t no_close_code = 1005;

/// A reader for the frames of a client. It unmasks the frames, joins the parts of messages, and detects violations of
/// the protocol.
class BRAID_API websocket_reader {
 public:
  /// The kind of item that `next` has found in the input.
  enum class found : std::uint8_t { nothing, message, ping, pong, close, failure };

  explicit websocket_reader(std::size_t max_message) noexcept : max_message_(max_message) {}

  /// Consumes the input up to the end of the next message or control frame. If the input contains no such end, consumes
  /// all of it. Do not call this function again after a failure. Errors: std::bad_alloc.
  auto next(std::string_view& input) -> found;

  /// Returns the data of the message. The data is valid until the next call of `next`.
  [[nodiscard]] auto message() const noexcept -> std::string_view { return message_; }
  [[nodiscard]] auto is_text() const noexcept -> bool { return kind_ == websocket_opcode::text; }
  /// Returns the data of a ping or pong frame, or the reason in a close frame.
  [[nodiscard]] auto control() const noexcept -> std::string_view;
  /// Returns the code in the close frame. After a failure, returns the code with which to close the connection.
  [[nodiscard]] auto code() const noexcept -> std::uint16_t { return code_; }

 private:
  static constexpr std::size_t max_head = 14;
  static constexpr std::size_t max_control = 125;

  [[nodiscard]] auto head_needs() const noexcept -> std::size_t;
  auto read_head() noexcept -> found;
  void take_payload(std::string_view& input);
  auto end_frame() -> found;
  auto end_close() -> found;
  auto fail(websocket_code code) noexcept -> found;

  std::size_t max_message_;
  std::array<unsigned char, max_head> head_{};
  std::size_t head_size_ = 0;
  bool has_head_ = false;
  bool is_last_ = false;
  websocket_opcode opcode_ = websocket_opcode::continuation;
  std::array<unsigned char, 4> mask_{};
  std::uint64_t length_ = 0;                                // the size of the payload of the frame
  std::uint64_t taken_ = 0;                                 // the number of its bytes that were consumed
  websocket_opcode kind_ = websocket_opcode::continuation;  // the kind of the message; continuation: none has begun
  bool is_over_ = true;                                     // the message was returned
  std::string message_;
  std::string control_;
  std::uint16_t code_ = no_close_code;
};

/// Appends a whole frame of a server, which is not masked. Errors: std::bad_alloc.
BRAID_API void append_websocket_frame(std::string& out, websocket_opcode opcode, std::string_view payload);

/// Appends a close frame; the reason is cut off after 123 bytes. Errors: std::bad_alloc.
BRAID_API void append_websocket_close(std::string& out, std::uint16_t code, std::string_view reason);

/// Returns whether a peer may close with this code.
[[nodiscard]] BRAID_API auto is_close_code(std::uint16_t code) noexcept -> bool;

/// Returns whether the text is valid UTF-8, which contains no surrogates and no overlong forms.
[[nodiscard]] BRAID_API auto is_utf8(std::string_view text) noexcept -> bool;

/// Returns the value of Sec-WebSocket-Accept for a key.
[[nodiscard]] BRAID_API auto websocket_accept(std::string_view key) -> std::string;

}  // namespace braid::detail
