// braid/io/sockets.hpp: addresses, TCP and Unix streams and listeners, UDP, names of hosts.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/detail/io_operation.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace braid {

/// A value; the default is no address. As text:
/// - IPv4: `127.0.0.1:80`
/// - IPv6: `[::1]:80`, `[fe80::1%2]:80` with the number of an interface
/// - Unix: `unix:/run/x`, a file; `unix:@x`, an abstract name, which needs none; bytes that do not print are `\xNN`
/// Threads: as any value; no call blocks.
class BRAID_API socket_address {
 public:
  /// The addresses of a host, the best first.
  using list = std::vector<socket_address>;

  socket_address() = default;

  /// Numbers only; names are for `resolve`. Errors: errc::bad_address for anything but the forms above.
  [[nodiscard]] static auto parse(std::string_view text) -> result<socket_address>;
  /// Returns an IPv4 or IPv6 address without brackets. Errors: errc::bad_address.
  [[nodiscard]] static auto ip(std::string_view host, std::uint16_t port) -> result<socket_address>;
  /// 127.0.0.1. A listener with port 0 gets a free one.
  [[nodiscard]] static auto loopback(std::uint16_t port) noexcept -> socket_address;
  /// Every IPv4 address of this machine.
  [[nodiscard]] static auto any(std::uint16_t port) noexcept -> socket_address;
  /// Errors: errc::bad_address for no name, one with NUL, or one of more than 107 bytes.
  [[nodiscard]] static auto unix_file(std::string_view path) -> result<socket_address>;
  /// Any bytes. Errors: errc::bad_address for no name, or one of more than 107 bytes.
  [[nodiscard]] static auto unix_abstract(std::string_view name) -> result<socket_address>;
  /// Converts an address of the system.
  /// Errors: errc::bad_address for another family, or a wrong size.
  [[nodiscard]] static auto from_system(const sockaddr* address, socklen_t size) -> result<socket_address>;

  /// Returns AF_INET, AF_INET6 or AF_UNIX, or AF_UNSPEC for no address.
  [[nodiscard]] auto family() const noexcept -> int { return storage_.ss_family; }
  [[nodiscard]] auto is_ip() const noexcept -> bool { return family() == AF_INET || family() == AF_INET6; }
  /// 0 for a Unix socket.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t;
  /// Without the port or the prefix; for a Unix socket without a name, empty.
  [[nodiscard]] auto host() const -> std::string;
  /// Returns the text that `parse` accepts; `unix:` alone for a Unix socket without a name, `none` for no address.
  [[nodiscard]] auto to_string() const -> std::string;

  [[nodiscard]] auto data() const noexcept -> const sockaddr*;
  [[nodiscard]] auto size() const noexcept -> socklen_t { return size_; }

  friend BRAID_API auto operator==(const socket_address& a, const socket_address& b) noexcept -> bool;

 private:
  [[nodiscard]] auto unix_name() const noexcept -> std::string_view;

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// A connection is closed when it is destroyed: written bytes are still delivered, unless bytes arrived that were not
/// read, and then a TCP peer gets connection_reset.
class BRAID_API stream_socket : public byte_stream {
 public:
  /// The directions of a connection that `shutdown` ends.
  enum class side : std::uint8_t { read, write, both };

  /// Options that do not apply to Unix sockets are ignored there.
  struct options {
    bool no_delay = true;  ///< TCP sends small writes at once, instead of waiting for more
    std::optional<std::chrono::seconds> keep_alive = {};  ///< TCP probes the peer after a silence of this length
    std::optional<int> send_buffer = {};                  ///< bytes; the system doubles it, and has a limit
    std::optional<int> receive_buffer = {};
  };

  stream_socket() = default;

  /// Connects to one address. Errors: the system's, such as connection_refused, timed_out, network_unreachable.
  /// A Unix listener whose backlog is full is asked again until it has room. Use it with a deadline: TCP by itself
  /// gives up after two minutes.
  [[nodiscard]] static auto connect(loop& loop, socket_address address, options options) -> task<result<stream_socket>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto connect(loop& loop, socket_address address)
      -> task<result<stream_socket>> {
    return connect(loop, address, options());
  }
  /// Tries one address after the other, each as soon as the previous one has failed or has not answered within
  /// `head_start`, and returns the first connection; the other tries are stopped.
  /// Errors: the error of the first address that failed; invalid_argument if the list is empty. Use it with a deadline.
  [[nodiscard]] static auto connect_to_first(loop& loop, socket_address::list addresses, options options,
                                             duration head_start = 250ms) -> task<result<stream_socket>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto connect_to_first(loop& loop, socket_address::list addresses)
      -> task<result<stream_socket>> {
    return connect_to_first(loop, std::move(addresses), options());
  }
  /// Takes ownership of a connected socket, and makes it non-blocking.
  /// Errors: not_a_socket, and the system's.
  [[nodiscard]] static auto adopt(loop& loop, descriptor connected) -> result<stream_socket>;
  /// Two Unix sockets that are connected to each other. Errors: the system's.
  [[nodiscard]] static auto pair(loop& loop) -> result<std::pair<stream_socket, stream_socket>>;

  /// Ends one direction: the peer reads to the end of the bytes that were written before. Errors: not_connected; the
  /// system's.
  [[nodiscard]] auto shutdown(side side) const noexcept -> result<void>;

  /// Errors of all three: not_connected; the system's.
  [[nodiscard]] auto local_address() const -> result<socket_address>;
  [[nodiscard]] auto peer_address() const -> result<socket_address>;
  [[nodiscard]] auto set_options(const options& options) const noexcept -> result<void>;

 private:
  friend class stream_listener;
  stream_socket(loop& loop, descriptor owned, int family)
      : byte_stream(loop, std::move(owned),
                    family == AF_UNIX ? detail::io_registration::kind::socket : detail::io_registration::kind::tcp) {}
};

namespace detail {
class accept_operation;
}

/// A listener that accepts connections for tasks of one loop. A TCP address can be bound again as soon as its listener
/// is destroyed; the file of a Unix address stays until a program removes it.
/// Threads: the loop's own; a listener that no task has waited on may be created and moved elsewhere. Lifetime:
/// outlives its accepts; ends before its loop.
class BRAID_API stream_listener {
 public:
  /// The options of a listener and of its connections.
  struct options {
    int backlog = 4096;  ///< connections that wait to be accepted; the system has a limit of its own
    bool reuse_port =
        false;  ///< several listeners of one address, of this user, share its connections: one for each loop
    bool ipv6_only = false;                  ///< a listener on `[::]` accepts no IPv4
    stream_socket::options connection = {};  ///< of accepted connections
  };

  stream_listener() = default;

  /// Errors: the system's, such as address_in_use, address_not_available, permission_denied.
  [[nodiscard]] static auto listen(loop& loop, const socket_address& address, const options& options)
      -> result<stream_listener>;
  [[nodiscard]] static auto listen(loop& loop, const socket_address& address) -> result<stream_listener> {
    return listen(loop, address, options());
  }
  /// Does the same with an address as text, as for `socket_address::parse`: `127.0.0.1:8080`.
  /// Errors: as for that, too.
  [[nodiscard]] static auto listen(loop& loop, std::string_view at, const options& options) -> result<stream_listener>;
  [[nodiscard]] static auto listen(loop& loop, std::string_view at) -> result<stream_listener> {
    return listen(loop, at, options());
  }

  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }
  /// Returns the address with the port that the system chose.
  [[nodiscard]] auto local_address() const -> result<socket_address>;

  /// Waits for the next connection; one task at a time. Connections that broke off before are skipped. If the process
  /// has no descriptor left, waiting connections are accepted with a descriptor that was reserved for this, and closed
  /// at once, so that their peers know. If even that is impossible, it tries again every 10 ms.
  /// Errors: the system's, which are not expected.
  [[nodiscard]] auto accept() -> task<result<stream_socket>>;

  /// Returns the number of connections that wait to be accepted.
  /// Errors: the system's; not_supported if it is not TCP.
  [[nodiscard]] auto waiting() const noexcept -> result<std::size_t>;

  /// Returns the number of connections that were closed because no descriptor was left.
  [[nodiscard]] auto refused() const noexcept -> std::uint64_t { return refused_; }

  /// The listener belongs to another loop from now on, and so do the connections that it accepts. Requires an open one,
  /// and that no task accepts. Threads: once a task has waited on it, its loop's own; before, any.
  void move_to(loop& other) noexcept;

  /// Connections that wait are reset. Requires that no task accepts.
  void close() noexcept { open_.reset(); }

 private:
  friend class detail::accept_operation;
  enum class refusal : std::uint8_t { done, nobody_waits, no_reserve };

  stream_listener(loop& loop, descriptor owned, int family);
  void keep_reserve() noexcept;
  [[nodiscard]] auto refuse_one() noexcept -> refusal;

  std::unique_ptr<detail::open_descriptor> open_;
  descriptor reserve_;
  int family_ = AF_UNSPEC;
  std::uint64_t refused_ = 0;
};

/// A received datagram.
struct datagram {
  std::size_t size = 0;  ///< of it; what did not fit into the room was cut off
  bool is_whole = true;
  socket_address from;
};

namespace detail {

class BRAID_API __attribute__((warn_unused)) receive_operation final : public io_operation {
 public:
  receive_operation(open_descriptor* from, std::span<std::byte> buffer) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<datagram> { return result_; }

 private:
  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;

  iovec room_;
  result<datagram> result_;
};

class BRAID_API __attribute__((warn_unused)) send_operation final : public io_operation {
 public:
  send_operation(open_descriptor* through, std::span<const std::byte> bytes, const socket_address* address) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<void> { return result_; }

 private:
  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;

  iovec bytes_;
  const socket_address* address_;
  result<void> result_;
};

}  // namespace detail

/// A UDP socket. A datagram is sent whole or not at all, may be lost or duplicated on its way, and is received whole.
/// One task at a time receives, and one sends. A stop or a deadline withdraws a wait; datagrams that have arrived stay
/// for the next call.
/// Threads: the loop's own. Blocks: no thread. Lifetime: as a stream's. Buffers and addresses live until the call has
/// ended. Errors: the system's, such as message_size; connection_refused on a connected socket whose peer is not there.
class BRAID_API udp_socket {
 public:
  /// The options of a datagram socket.
  struct options {
    bool reuse_port = false;  ///< several sockets of one address, of this user, share what arrives, by its sender
    bool broadcast = false;   ///< may send to a broadcast address
    std::optional<int> send_buffer = {};  ///< bytes; the system doubles it, and has a limit
    std::optional<int> receive_buffer = {};
  };

  udp_socket() = default;

  /// Port 0 is a free one. Errors: invalid_argument if the address is not an IP address; the system's, such as
  /// address_in_use.
  [[nodiscard]] static auto bind(loop& loop, const socket_address& address, const options& options)
      -> result<udp_socket>;
  [[nodiscard]] static auto bind(loop& loop, const socket_address& address) -> result<udp_socket> {
    return bind(loop, address, options());
  }

  /// Restricts the socket to one peer: from now on it sends to this address, and receives only from it.
  [[nodiscard]] auto connect(const socket_address& address) const noexcept -> result<void>;

  /// Waits for the next datagram, and returns a result<datagram>.
  [[nodiscard]] auto receive(std::span<std::byte> buffer) const noexcept {
    return detail::receive_operation(open_.get(), buffer);
  }

  /// Waits until there is room, and returns a result<void>.
  [[nodiscard]] auto send_to(std::span<const std::byte> bytes, const socket_address& address) const noexcept {
    return detail::send_operation(open_.get(), bytes, &address);
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

namespace detail {

/// Asks the system (getaddrinfo) for the addresses of a host, in the order in which they are best tried; ports are 0.
/// Blocks: for seconds at times. Errors: errc::unknown_host; resource_unavailable_try_again; the system's.
[[nodiscard]] BRAID_API auto lookup_host(const std::string& name) -> result<socket_address::list>;

}  // namespace detail

/// Asks for names on an executor whose jobs may block, one question at a time for each name, and remembers the answers.
/// Threads: the loop's own; callers are at home on it. Lifetime: outlives its calls.
class BRAID_API resolver {
 public:
  /// The options of a resolver: what it asks, and how long it remembers the answers.
  struct options {
    duration lifetime = 30s;        ///< of an answer, from the moment it was asked for
    duration failed_lifetime = 1s;  ///< of an answer that is an error
    std::size_t max_names = 1024;   ///< that are remembered
    std::function<result<socket_address::list>(const std::string&)> lookup = &detail::lookup_host;
  };

  resolver(loop& loop, executor& blocking, options options);
  resolver(loop& loop, executor& blocking) : resolver(loop, blocking, options()) {}

  /// Returns the addresses of a host; an IP address is returned without a query. A stop or a deadline ends the wait at
  /// once; the query continues, and its answer is remembered.
  /// Errors: errc::unknown_host; resource_unavailable_try_again; the system's; errc::closed if the executor accepts no
  /// more work.
  [[nodiscard]] auto resolve(std::string host, std::uint16_t port) -> task<result<socket_address::list>>;

  /// Forgets all answers.
  void clear() noexcept { known_.clear(); }

 private:
  struct answer {
    shared_future<result<socket_address::list>> future;
    time_point asked;
  };

  [[nodiscard]] auto is_fresh(const answer& known) const -> bool;
  [[nodiscard]] auto ask(const std::string& host) -> answer;
  void make_room();

  loop* loop_;
  executor* blocking_;
  options options_;
  std::unordered_map<std::string, answer> known_;
};

}  // namespace braid
