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

/// How far a call has come that may need more of the peer.
enum class tls_step : std::uint8_t {
  done,
  hungry,  ///< goes on when more has been received
};

/// What was received goes in through `room` and `received`; what is to be sent comes out of `output` and `sent`.
/// Owners of the buffers: docs/design/tls.md
/// Threads: one at a time, at all calls.
class BRAID_API tls_engine {
 public:
  tls_engine() = default;
  tls_engine(const tls_engine&) = delete;
  auto operator=(const tls_engine&) -> tls_engine& = delete;
  virtual ~tls_engine();

  /// One step of the handshake: as far as what was received goes.
  [[nodiscard]] virtual auto shake_hands() noexcept -> result<tls_step> = 0;
  struct amount {
    tls_step step = tls_step::done;
    std::size_t bytes = 0;
  };
  /// Decrypts into the front of `into`; `hungry` where nothing has come. No bytes and `done`: the peer has ended.
  [[nodiscard]] virtual auto read(std::span<std::byte> into) noexcept -> result<amount> = 0;
  /// Encrypts the front of `bytes`, which is not empty, in one record, and gives how much of it.
  [[nodiscard]] virtual auto write(std::span<const std::byte> bytes) noexcept -> result<std::size_t> = 0;
  /// Writes the notice that nothing more will come. Again: nothing.
  [[nodiscard]] virtual auto end() noexcept -> result<void> = 0;
  [[nodiscard]] virtual auto has_ended() const noexcept -> bool = 0;

  /// Where to receive more. Stays in its place until `received`.
  [[nodiscard]] virtual auto room() -> std::span<std::byte> = 0;
  virtual void received(std::size_t bytes) noexcept = 0;
  /// Whether a whole record was received and not taken, or something that is none: a step would get somewhere.
  [[nodiscard]] virtual auto is_worth_a_step() const noexcept -> bool = 0;

  /// Whether all that was received has been read, and neither the peer has ended nor anything failed.
  [[nodiscard]] virtual auto is_drained() const noexcept -> bool = 0;

  /// What is to be sent next. Stays in its place until all of it is sent.
  [[nodiscard]] virtual auto output() noexcept -> std::span<const std::byte> = 0;
  virtual void sent(std::size_t bytes) noexcept = 0;
  /// How much waits to be sent.
  [[nodiscard]] virtual auto unsent() const noexcept -> std::size_t = 0;

  /// How much of it reading has brought about, beside what is being sent: the peer decides how much that is.
  [[nodiscard]] virtual auto replies() const noexcept -> std::size_t = 0;

  [[nodiscard]] virtual auto setup() const noexcept -> const tls_setup& = 0;

  // What the handshake has found out, as in tls_stream.
  [[nodiscard]] virtual auto protocol() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto version() const noexcept -> tls_context::version = 0;
  [[nodiscard]] virtual auto resumed() const noexcept -> bool = 0;
  [[nodiscard]] virtual auto server_name() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto peer_certificate() const -> std::vector<std::byte> = 0;
};

}  // namespace braid::detail
