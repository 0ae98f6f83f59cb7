// src/io/tls_connection.hpp: implements a TLS connection: an engine, a socket, and a lock that a task holds while it
// sends.
#pragma once

#include "tls_engine.hpp"

#include <braid/base/error.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace braid::detail {

/// A TLS connection. Rules for concurrent reads and writes: docs/design/tls.md
class tls_connection {
 public:
  tls_connection(stream_socket socket, std::unique_ptr<tls_engine> engine) noexcept
      : socket_(std::move(socket)), engine_(std::move(engine)) {}

  auto shake_hands() -> task<result<void>>;
  auto read_some(std::span<std::byte> buffer) -> task<result<std::size_t>>;
  auto read_exactly(std::span<std::byte> buffer) -> task<result<void>>;
  auto write_one(std::span<const std::byte> bytes) -> task<result<void>>;
  auto write_parts(std::span<const std::span<const std::byte>> parts) -> task<result<void>>;
  auto shutdown() -> task<result<void>>;
  auto try_shutdown() noexcept -> bool;

  void move_to(loop& other) noexcept { socket_.move_to(other); }
  [[nodiscard]] auto socket() const noexcept -> const stream_socket& { return socket_; }
  [[nodiscard]] auto is_drained() const noexcept -> bool { return engine_->is_drained(); }
  [[nodiscard]] auto engine() const noexcept -> const tls_engine& { return *engine_; }

 private:
  auto step() -> task<result<tls_step>>;
  auto receive() -> task<result<void>>;
  auto send() -> task<result<void>>;
  void send_what_goes() noexcept;

  stream_socket socket_;
  std::unique_ptr<tls_engine> engine_;
  async_mutex sending_;  // held while output of the engine is sent
};

}  // namespace braid::detail
