// src/io/tls_engine.hpp: declares the interface of a TLS engine, which encrypts and decrypts between memory buffers,
// without sockets.
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

/// The result of a call that may need more bytes from the peer.
enum class tls_step : std::uint8_t {
  done,
  hungry,  ///< more received bytes are needed
};

/// The TLS state of one connection. Store received bytes in `room` and call `received`; send the bytes of `output` and
/// call `sent`. Owners of the buffers: docs/design/tls.md
/// Threads: only one thread at a time may call any of the functions.
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
  /// Decrypts received data into `buffer`. Returns `hungry` if more bytes from the peer are needed, and `done` with 0
  /// bytes if the peer has ended the stream.
  [[nodiscard]] virtual auto read(std::span<std::byte> buffer) noexcept -> result<amount> = 0;
  /// Encrypts the first part of `bytes` as one record, and returns the length of that part. Requires that `bytes` is
  /// not empty.
  [[nodiscard]] virtual auto write(std::span<const std::byte> bytes) noexcept -> result<std::size_t> = 0;
  /// Writes the close notice, once. Repeated calls write nothing.
  [[nodiscard]] virtual auto end() noexcept -> result<void> = 0;
  [[nodiscard]] virtual auto has_ended() const noexcept -> bool = 0;

  /// Returns the free space for received bytes. The space does not move until `received` is called.
  [[nodiscard]] virtual auto room() -> std::span<std::byte> = 0;
  virtual void received(std::size_t bytes) noexcept = 0;
  /// Returns whether a step would make progress, because unprocessed input exists: a complete record, or bytes that are
  /// not a record.
  [[nodiscard]] virtual auto is_worth_a_step() const noexcept -> bool = 0;

  /// Returns whether all received bytes have been read and the connection is still open and has not failed.
  [[nodiscard]] virtual auto is_drained() const noexcept -> bool = 0;

  /// Returns the bytes to send next. These bytes do not move until all of them are sent.
  [[nodiscard]] virtual auto output() noexcept -> std::span<const std::byte> = 0;
  virtual void sent(std::size_t bytes) noexcept = 0;
  /// Returns the number of bytes that wait to be sent.
  [[nodiscard]] virtual auto unsent() const noexcept -> std::size_t = 0;

  /// Returns the number of unsent bytes that were produced by reads. The bytes that are being sent do not count. The
  /// peer determines this number, because the bytes answer its messages.
  [[nodiscard]] virtual auto replies() const noexcept -> std::size_t = 0;

  [[nodiscard]] virtual auto setup() const noexcept -> const tls_setup& = 0;

  // The functions below return results of the handshake. They are the same as the functions of `tls_stream` with these
  // names.
  [[nodiscard]] virtual auto protocol() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto version() const noexcept -> tls_context::version = 0;
  [[nodiscard]] virtual auto resumed() const noexcept -> bool = 0;
  [[nodiscard]] virtual auto server_name() const noexcept -> std::string_view = 0;
  [[nodiscard]] virtual auto peer_certificate() const -> std::vector<std::byte> = 0;
};

}  // namespace braid::detail
