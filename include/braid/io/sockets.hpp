// braid/io/sockets.hpp: socket addresses, TCP and Unix streams and listeners, UDP sockets, and host name resolution.
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

/// A socket address. A default-constructed object holds no address. The forms of an address as text are:
/// - IPv4: `127.0.0.1:80`
/// - IPv6: `[::1]:80`, `[fe80::1%2]:80` with the number of an interface
/// - Unix: `unix:/run/x` for a file; `unix:@x` for an abstract name, which needs no file; unprintable bytes are written
/// as `\xNN`
/// Threads: one at a time may change an object; any number may read it. No call blocks.
class BRAID_API socket_address {
 public:
  /// The addresses of a host, best first.
  using list = std::vector<socket_address>;

  socket_address() = default;

  /// Parses an address with a numeric host; for host names use `resolve`. Errors: errc::bad_address if the text does
  /// not have one of the forms above.
  [[nodiscard]] static auto parse(std::string_view text) -> result<socket_address>;
  /// Returns the address for an IPv4 or IPv6 host that is written without brackets. Errors: errc::bad_address.
  [[nodiscard]] static auto ip(std::string_view host, std::uint16_t port) -> result<socket_address>;
  /// Returns the address 127.0.0.1 with this port. A listener with port 0 gets a free port.
  [[nodiscard]] static auto loopback(std::uint16_t port) noexcept -> socket_address;
  /// Returns the address 0.0.0.0, which stands for every IPv4 address of this machine, with this port.
  [[nodiscard]] static auto any(std::uint16_t port) noexcept -> socket_address;
  /// Returns the address of a Unix socket file. Errors: errc::bad_address if the path is empty, contains a NUL, or has
  /// more than 107 bytes.
  [[nodiscard]] static auto unix_file(std::string_view path) -> result<socket_address>;
  /// Returns the address of an abstract Unix socket. The name may contain any bytes. Errors: errc::bad_address if the
  /// name is empty or has more than 107 bytes.
  [[nodiscard]] static auto unix_abstract(std::string_view name) -> result<socket_address>;
  /// Converts an address of the system.
  /// Errors: errc::bad_address for an unknown family or a wrong size.
  [[nodiscard]] static auto from_system(const sockaddr* address, socklen_t size) -> result<socket_address>;

  /// Returns AF_INET, AF_INET6 or AF_UNIX. Returns AF_UNSPEC if this object holds no address.
  [[nodiscard]] auto family() const noexcept -> int { return storage_.ss_family; }
  [[nodiscard]] auto is_ip() const noexcept -> bool { return family() == AF_INET || family() == AF_INET6; }
  /// Returns the port, or 0 for a Unix socket.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t;
  /// Returns the host without the port, or the path of a Unix socket without the prefix. The result is empty for a Unix
  /// socket without a name.
  [[nodiscard]] auto host() const -> std::string;
  /// Returns the address as text that `parse` accepts. Returns `unix:` for a Unix socket without a name, and `none` if
  /// this object holds no address.
  [[nodiscard]] auto to_string() const -> std::string;

  [[nodiscard]] auto data() const noexcept -> const sockaddr*;
  [[nodiscard]] auto size() const noexcept -> socklen_t { return size_; }

  friend BRAID_API auto operator==(const socket_address& a, const socket_address& b) noexcept -> bool;

 private:
  [[nodiscard]] auto unix_name() const noexcept -> std::string_view;

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// A connection, which is closed when the object is destroyed. Bytes that were written are still delivered. However, if
/// received bytes were not read, a TCP peer gets connection_reset.
class BRAID_API stream_socket : public byte_stream {
 public:
  /// Selects which direction of a connection `shutdown` ends.
  enum class side : std::uint8_t { read, write, both };

  /// The options of a connection. For Unix sockets, options that apply only to TCP are ignored.
  struct options {
    bool no_delay = true;  ///< TCP sends small writes at once, instead of waiting for more
    std::optional<std::chrono::seconds> keep_alive = {};  ///< TCP probes the peer after a silence of this length
    std::optional<int> send_buffer = {};                  ///< bytes; the system doubles it, and has a limit
    std::optional<int> receive_buffer = {};
  };

  stream_socket() = default;

  /// Connects to one address. Errors: system errors, such as connection_refused, timed_out, network_unreachable. If the
  /// backlog of a Unix listener is full, the call retries until there is room. Use this function with a deadline,
  /// because TCP itself gives up only after two minutes.
  [[nodiscard]] static auto connect(loop& loop, socket_address address, options options) -> task<result<stream_socket>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto connect(loop& loop, socket_address address)
      -> task<result<stream_socket>> {
    return connect(loop, address, options());
  }
  /// Connects to one of several addresses. It tries them in order. It starts the next attempt when the previous one has
  /// failed, or has not succeeded within `head_start`. Returns the first connection, and stops the other attempts. Use
  /// this function with a deadline. Errors: the error of the first address that failed; invalid_argument if the list is
  /// empty.
  [[nodiscard]] static auto connect_to_first(loop& loop, socket_address::list addresses, options options,
                                             duration head_start = 250ms) -> task<result<stream_socket>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto connect_to_first(loop& loop, socket_address::list addresses)
      -> task<result<stream_socket>> {
    return connect_to_first(loop, std::move(addresses), options());
  }
  /// Takes ownership of a connected socket, and makes it non-blocking.
  /// Errors: not_a_socket, and system errors.
  [[nodiscard]] static auto adopt(loop& loop, descriptor connected) -> result<stream_socket>;
  /// Returns two Unix sockets that are connected to each other. Errors: system errors.
  [[nodiscard]] static auto pair(loop& loop) -> result<std::pair<stream_socket, stream_socket>>;

  /// Ends one or both directions. The peer can still read the bytes that were written before. Errors: not_connected;
  /// system errors.
  [[nodiscard]] auto shutdown(side side) const noexcept -> result<void>;

  /// Errors of the following three functions: not_connected; system errors.
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
/// is destroyed. The file of a Unix address exists until a program removes it.
/// Threads: the loop's thread. A listener that no task has waited on may be created and moved on other threads.
/// Lifetime: the listener must outlive its accept calls, and must be destroyed before its loop.
class BRAID_API stream_listener {
 public:
  /// The options of a listener and of its connections.
  struct options {
    int backlog = 4096;  ///< connections that wait to be accepted; the system has its own limit
    bool reuse_port =
        false;  ///< several listeners of one address, of this user, share its connections: one for each loop
    bool ipv6_only = false;                  ///< a listener on `[::]` accepts no IPv4
    stream_socket::options connection = {};  ///< the options of accepted connections
  };

  stream_listener() = default;

  /// Creates a listener. Errors: system errors, such as address_in_use, address_not_available, permission_denied.
  [[nodiscard]] static auto listen(loop& loop, const socket_address& address, const options& options)
      -> result<stream_listener>;
  [[nodiscard]] static auto listen(loop& loop, const socket_address& address) -> result<stream_listener> {
    return listen(loop, address, options());
  }
  /// Creates a listener for an address as text, such as `127.0.0.1:8080`: see `socket_address::parse`. Errors: system
  /// errors, as above, and the errors of `socket_address::parse`.
  [[nodiscard]] static auto listen(loop& loop, std::string_view text, const options& options)
      -> result<stream_listener>;
  [[nodiscard]] static auto listen(loop& loop, std::string_view text) -> result<stream_listener> {
    return listen(loop, text, options());
  }

  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }
  /// Returns the listener's address, with the port that the system chose if port 0 was requested.
  [[nodiscard]] auto local_address() const -> result<socket_address>;

  /// Waits for the next connection. One task at a time may call it. Skips connections that were lost while they waited
  /// to be accepted. If the process has no descriptors left, the listener uses a reserved descriptor to accept waiting
  /// connections and to close them at once, so that their peers are notified. If that is also impossible, it retries
  /// every 10 ms. Errors: system errors, but only if something unexpected has failed.
  [[nodiscard]] auto accept() -> task<result<stream_socket>>;

  /// Returns the number of connections that wait to be accepted.
  /// Errors: system errors; not_supported if this is not a TCP listener.
  [[nodiscard]] auto waiting() const noexcept -> result<std::size_t>;

  /// Returns the number of connections that were closed because no descriptor was left.
  [[nodiscard]] auto refused() const noexcept -> std::uint64_t { return refused_; }

  /// Moves the listener to another loop. Connections that the listener accepts later belong to that loop, too. Requires
  /// an open listener, and that no task waits for a connection. Threads: the loop's thread. Before a task has waited on
  /// the listener, other threads may also call this.
  void move_to(loop& other) noexcept;

  /// Closes the listener. Connections that wait to be accepted are reset. Requires that no task waits for a connection.
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
  std::size_t size = 0;  ///< its size; bytes that did not fit into the buffer were cut off
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

/// A UDP socket. A datagram is sent and received as a whole, or not at all. It may be lost or duplicated on the way.
/// One task at a time receives, and one sends. A stop or a deadline ends a wait early; datagrams that have arrived are
/// kept for the next call.
/// Threads: the loop's thread. Blocks: no thread. Lifetime: the socket must outlive its calls, and must be destroyed
/// before its loop. Buffers and addresses must live until the call has ended. Errors: system errors, such as
/// message_size; connection_refused if the peer of a connected socket does not exist.
class BRAID_API udp_socket {
 public:
  /// The options of a datagram socket.
  struct options {
    bool reuse_port = false;  ///< several sockets of one address, of this user, share the arriving data, by sender
    bool broadcast = false;   ///< may send to a broadcast address
    std::optional<int> send_buffer = {};  ///< bytes; the system doubles it, and has a limit
    std::optional<int> receive_buffer = {};
  };

  udp_socket() = default;

  /// Creates a socket. Port 0 means a free port. Errors: invalid_argument if the address is not an IP address; system
  /// errors, such as address_in_use.
  [[nodiscard]] static auto bind(loop& loop, const socket_address& address, const options& options)
      -> result<udp_socket>;
  [[nodiscard]] static auto bind(loop& loop, const socket_address& address) -> result<udp_socket> {
    return bind(loop, address, options());
  }

  /// Restricts the socket to one peer: from now on it sends to this address, and receives only from this address.
  [[nodiscard]] auto connect(const socket_address& address) const noexcept -> result<void>;

  /// Waits for the next datagram, and returns a result<datagram>.
  [[nodiscard]] auto receive(std::span<std::byte> buffer) const noexcept {
    return detail::receive_operation(open_.get(), buffer);
  }

  /// Waits until there is room, sends the datagram, and returns a result<void>.
  [[nodiscard]] auto send_to(std::span<const std::byte> bytes, const socket_address& address) const noexcept {
    return detail::send_operation(open_.get(), bytes, &address);
  }
  /// Sends to the peer that was set by `connect`. Errors: destination_address_required if `connect` was not called.
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

/// Resolves a host name with the system's resolver (getaddrinfo). Returns the addresses in the recommended order, with
/// port 0. Blocks: until the resolver has answered, which can take seconds. Errors: errc::unknown_host;
/// resource_unavailable_try_again; system errors.
[[nodiscard]] BRAID_API auto lookup_host(const std::string& name) -> result<socket_address::list>;

}  // namespace detail

/// Resolves host names on an executor whose jobs may block, and caches the answers. At any time there is at most one
/// query for each name.
/// Threads: the loop's thread, from tasks of the loop. Lifetime: must outlive its calls.
class BRAID_API resolver {
 public:
  /// The options of a resolver: the lookup function, and how long answers are cached.
  struct options {
    duration lifetime = 30s;        ///< how long an answer is kept, counted from the query
    duration failed_lifetime = 1s;  ///< how long an answer that is an error is kept
    std::size_t max_names = 1024;   ///< the maximum number of names that are kept
    std::function<result<socket_address::list>(const std::string&)> lookup = &detail::lookup_host;
  };

  resolver(loop& loop, executor& blocking, options options);
  resolver(loop& loop, executor& blocking) : resolver(loop, blocking, options()) {}

  /// Returns the addresses of a host. An IP address is returned without a query. A stop or a deadline ends the wait at
  /// once; the query continues, and its answer is cached.
  /// Errors: errc::unknown_host; resource_unavailable_try_again; system errors; errc::closed if the executor accepts no
  /// more work.
  [[nodiscard]] auto resolve(std::string host, std::uint16_t port) -> task<result<socket_address::list>>;

  /// Empties the cache.
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
