// braid/io/stream_listener.hpp: taking connections, by TCP or a Unix socket.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/io/detail/io_operation.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/socket_address.hpp>
#include <braid/io/stream_socket.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <memory>

namespace braid {

namespace detail {
class accept_operation;
}

/// How a listener is bound, and what its connections have.
struct listener_options {
  int backlog = 4096;  ///< connections that wait to be accepted; the system has a limit of its own
  bool reuse_port =
      false;               ///< several listeners of one address, of this user, share its connections: one for each loop
  bool ipv6_only = false;  ///< a listener on `[::]` takes no IPv4
  stream_options connection = {};  ///< of what is accepted
};

/// Takes connections for tasks of one loop. A TCP address can be bound again as soon as its listener is gone; the file
/// of a Unix address stays until a program removes it. Threads: the loop's own; one that no task has waited on may be
/// made and moved elsewhere. Lifetime: outlives its accepts; ends before its loop.
class BRAID_API stream_listener {
 public:
  stream_listener() = default;

  /// Errors: the system's, such as address_in_use, address_not_available, permission_denied.
  [[nodiscard]] static auto listen(loop& on, const socket_address& at, const listener_options& options = {})
      -> result<stream_listener>;
  /// The same with an address as `socket_address::parse` takes it: `127.0.0.1:8080`. Errors: as that, too.
  [[nodiscard]] static auto listen(loop& on, std::string_view at, const listener_options& options = {})
      -> result<stream_listener>;

  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }
  /// With the port that the system chose.
  [[nodiscard]] auto local_address() const -> result<socket_address>;

  /// Waits for the next connection; one task at a time. Those that broke off before are passed over. Where the process
  /// has no descriptor left, waiting connections are accepted with one that was kept for this, and closed at once, so
  /// that their peers know; where not even that is to be had, it looks again every 10 ms.
  /// Errors: the system's, which are not expected.
  [[nodiscard]] auto accept() -> task<result<stream_socket>>;

  /// How many connections wait to be accepted. Errors: the system's; not_supported by what is no TCP.
  [[nodiscard]] auto waiting() const noexcept -> result<std::size_t>;

  /// How many connections were closed because no descriptor was left.
  [[nodiscard]] auto refused() const noexcept -> std::uint64_t { return refused_; }

  /// The listener belongs to another loop from now on, and so do the connections that it accepts. Requires an open one,
  /// and that no task accepts. Threads: once a task has waited on it, its loop's own; before, any.
  void move_to(loop& other) noexcept;

  /// Connections that wait are reset. Requires that no task accepts.
  void close() noexcept { open_.reset(); }

 private:
  friend class detail::accept_operation;
  enum class refusal : std::uint8_t { done, nobody_waits, no_reserve };

  stream_listener(loop& on, descriptor owned, int family);
  void keep_reserve() noexcept;
  [[nodiscard]] auto refuse_one() noexcept -> refusal;

  std::unique_ptr<detail::open_descriptor> open_;
  descriptor reserve_;
  int family_ = AF_UNSPEC;
  std::uint64_t refused_ = 0;
};

}  // namespace braid
