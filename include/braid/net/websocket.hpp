// braid/net/websocket.hpp: WebSocket connections (RFC 6455) of an HTTP server.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/detail/websocket_codec.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

class http_exchange;
class scope;

/// A message that was received.
struct websocket_message {
  std::string_view data;  ///< valid until the next `receive`; valid UTF-8 if it is text
  bool is_text = false;
};

/// The options of a WebSocket.
struct websocket_options {
  std::size_t max_message = 1024 * 1024;    ///< the maximum size of a message; a larger one ends the connection (1009)
  duration ping_interval = 20s;             ///< the time between two pings to the client; zero: no pings
  std::vector<std::string> protocols = {};  ///< subprotocols of the server; the first that the client offers is chosen
};

/// A WebSocket connection that `http_exchange::websocket` opens. It supports no extensions, so messages are not
/// compressed.
/// Threads: the thread of the server's loop.
class BRAID_API websocket {
 public:
  websocket(const websocket&) = delete;
  auto operator=(const websocket&) -> websocket& = delete;

  /// Returns the next message, or nothing once the client has closed the connection. While it waits, it also answers
  /// pings. One task at a time may call it. The connection ends if nothing arrives within
  /// `http_server::options::body_timeout`, not even the answer to a ping.
  /// Errors: std::errc::protocol_error if the client violates the protocol or sends too much; the connection then ends
  /// with a close code. http_errc::truncated if the connection was lost; http_errc::too_slow if nothing arrived;
  /// http_errc::used_twice if another task is receiving.
  [[nodiscard]] auto receive() -> task<result<std::optional<websocket_message>>>;

  /// Sends a message, and waits until there is room for the next one. Several tasks may send; they take turns.
  /// Errors: errc::finished after a close; errc::invalid_argument for a text message that is not UTF-8; system errors
  /// if the client is disconnected or too slow.
  [[nodiscard]] auto send_text(std::string_view text) -> task<result<void>>;
  [[nodiscard]] auto send_binary(std::string_view data) -> task<result<void>>;

  /// Begins the closing handshake. Once the client has answered, `receive` returns nothing. A second call does nothing.
  /// Errors: errc::invalid_argument for a code that may not be sent, or a reason that is not UTF-8; system errors.
  [[nodiscard]] auto close(std::uint16_t code = 1000, std::string_view reason = {}) -> task<result<void>>;

  /// Returns the chosen subprotocol, or an empty string.
  [[nodiscard]] auto protocol() const noexcept -> std::string_view { return protocol_; }
  /// Returns the code with which the client has closed the connection. Returns 1005 if the client sent no code or has
  /// not closed.
  [[nodiscard]] auto close_code() const noexcept -> std::uint16_t { return close_code_; }

 private:
  friend class http_exchange;
  websocket(http_exchange& exchange, const websocket_options& options)
      : exchange_(&exchange), options_(options), reader_(options.max_message) {}

  auto accept() -> bool;
  auto send(detail::websocket_opcode opcode, std::string_view payload) -> task<result<void>>;
  auto send_close(std::uint16_t code, std::string_view reason) -> task<result<void>>;
  auto write(std::string_view frame) -> task<result<void>>;
  auto keep_alive() -> task<void>;
  auto end() -> task<void>;

  http_exchange* exchange_;
  websocket_options options_;
  std::string_view protocol_;
  detail::websocket_reader reader_;
  std::string_view input_;  // received bytes that were not read yet
  async_mutex lock_;        // held during each write
  bool has_sent_close_ = false;
  bool has_ended_ = false;  // no more messages are received
  std::uint16_t close_code_ = detail::no_close_code;
};

}  // namespace braid
