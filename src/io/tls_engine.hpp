// src/io/tls_engine.hpp: TLS between buffers: the state of one connection, without sockets and waits.
#pragma once

#include "tls_setup.hpp"

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace braid::detail {

/// The progress of a call that may need more bytes from the peer.
enum class tls_step : std::uint8_t {
  done,
  hungry,  ///< continues when more bytes have been received
};

/// Received bytes enter through `room` and `received`; bytes to be sent leave through `output` and `sent`. Owners of
/// the buffers: docs/design/tls.md Threads: one at a time, for all calls.
class BRAID_API tls_engine {
 public:
  tls_engine() = default;
  tls_engine(const tls_engine&) = delete;
  auto operator=(const tls_engine&) -> tls_engine& = delete;
  virtual ~tls_engine();

  /// Performs one step of the handshake, as far as the received bytes allow.
  [[nodiscard]] virtual auto shake_hands() noexcept -> result<tls_step> = 0;
  struct amount {
    tls_step step = tls_step::done;
    std::size_t bytes = 0;
  };
  /// Decrypts into the front of `buffer`. Returns `hungry` if nothing has arrived, and `done` without bytes if the peer
  /// has ended.
  [[nodiscard]] virtual auto read(std::span<std::byte> buffer) noexcept -> result<amount> = 0;
  /// Encrypts the front of `bytes`, which is not empty, in one record, and returns how much of it.
  [[nodiscard]] virtual auto write(std::span<const std::byte> bytes) noexcept -> result<std::size_t> = 0;
  /// Writes the notice that nothing more will follow. Repeated calls write nothing.
  [[nodiscard]] virtual auto end() noexcept -> result<void> = 0;
  [[nodiscard]] virtual auto has_ended() const noexcept -> bool = 0;

  /// Returns the space for received bytes. It does not move until `received`.
  [[nodiscard]] virtual auto room() -> std::span<std::byte> = 0;
  virtual void received(std::size_t bytes) noexcept = 0;
  /// Returns whether a step would make progress: a complete record, or something that is not a record, was received and
  /// not processed.
  [[nodiscard]] virtual auto is_worth_a_step() const noexcept -> bool = 0;

  /// Returns whether everything that was received has been read, and neither the peer has ended nor anything has
  /// failed.
  [[nodiscard]] virtual auto is_drained() const noexcept -> bool = 0;

  /// Returns the bytes to be sent next. They do not move until all of them are sent.
  [[nodiscard]] virtual auto output() noexcept -> std::span<const std::byte> = 0;
  virtual void sent(std::size_t bytes) noexcept = 0;
  /// Returns the number of bytes that wait to be sent.
  [[nodiscard]] virtual auto unsent() const noexcept -> std::size_t = 0;

  /// Returns the number of bytes that reading has produced in addition to the bytes being sent. The peer determines
  /// this number.
  [[nodiscard]] virtual auto replies() const noexcept -> std::size_t = 0;

  [[nodiscard]] virtual auto setup() const noexcept -> const tls_setup& = 0;

  // The results of the handshake, as in tls_stream.
  [[nodiscard]] virtual auto protocol() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto version() const noexcept -> tls_context::version = 0;
  [[nodiscard]] virtual auto resumed() const noexcept -> bool = 0;
  [[nodiscard]] virtual auto server_name() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto peer_certificate() const -> std::vector<std::byte> = 0;
};

}  // namespace braid::detail
