// braid/io/udp_socket.hpp: sending and receiving datagrams.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/detail/io_operation.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/socket_address.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include <sys/uio.h>

namespace braid {

/// How a datagram socket is made.
struct udp_options {
  bool reuse_port = false;  ///< several sockets of one address, of this user, share what arrives, by its sender
  bool broadcast = false;   ///< may send to a broadcast address
  std::optional<int> send_buffer = {};  ///< bytes; the system doubles it, and has a limit
  std::optional<int> receive_buffer = {};
};

/// What has arrived.
struct datagram {
  std::size_t size = 0;  ///< of it; what did not fit into the room was cut off
  bool is_whole = true;
  socket_address from;
};

namespace detail {

class BRAID_API receive_operation final : public io_operation {
 public:
  receive_operation(open_descriptor* from, std::span<std::byte> into) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<datagram> { return result_; }

 private:
  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;

  iovec room_;
  result<datagram> result_;
};

class BRAID_API send_operation final : public io_operation {
 public:
  send_operation(open_descriptor* through, std::span<const std::byte> bytes, const socket_address* to) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<void> { return result_; }

 private:
  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;

  iovec bytes_;
  const socket_address* to_;
  result<void> result_;
};

}  // namespace detail

/// A datagram is sent whole or not at all, may be lost on its way or come twice, and is received whole. One task at a
/// time receives, and one sends. A stop or a deadline withdraws a wait; what has arrived stays for the next.
/// Threads: the loop's own. Blocks: no thread. Lifetime: as that of a stream. Buffers and addresses live until the call
/// has ended. Errors: the system's, such as message_size; connection_refused on a connected socket whose peer is not
/// there.
class BRAID_API udp_socket {
 public:
  udp_socket() = default;

  /// Port 0 is a free one. Errors: invalid_argument for what is no IP address; the system's, such as address_in_use.
  [[nodiscard]] static auto bind(loop& on, const socket_address& at, const udp_options& options = {})
      -> result<udp_socket>;

  /// From here on it sends to one address, and receives from nowhere else.
  [[nodiscard]] auto connect(const socket_address& to) const noexcept -> result<void>;

  /// Waits for the next datagram, and gives a result<datagram>.
  [[nodiscard]] auto receive(std::span<std::byte> into) const noexcept {
    return detail::receive_operation(open_.get(), into);
  }

  /// Waits until there is room, and gives a result<void>.
  [[nodiscard]] auto send_to(std::span<const std::byte> bytes, const socket_address& to) const noexcept {
    return detail::send_operation(open_.get(), bytes, &to);
  }
  /// Requires `connect`. Errors: destination_address_required without it.
  [[nodiscard]] auto send(std::span<const std::byte> bytes) const noexcept {
    return detail::send_operation(open_.get(), bytes, nullptr);
  }

  [[nodiscard]] auto local_address() const -> result<socket_address>;
  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }
  void close() noexcept { open_.reset(); }

 private:
  std::unique_ptr<detail::open_descriptor> open_;
};

}  // namespace braid
