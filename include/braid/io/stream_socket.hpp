// braid/io/stream_socket.hpp: a connection, by TCP or a Unix socket.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/socket_address.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace braid {

/// What does not concern a Unix socket is passed over there.
struct stream_options {
  bool no_delay = true;                                 ///< TCP sends small writes at once, instead of waiting for more
  std::optional<std::chrono::seconds> keep_alive = {};  ///< TCP asks after so long a silence whether the peer is there
  std::optional<int> send_buffer = {};                  ///< bytes; the system doubles it, and has a limit
  std::optional<int> receive_buffer = {};
};

/// Which directions of a connection `shutdown` ends.
enum class socket_side : std::uint8_t { read, write, both };

/// A connection is closed when it is destroyed: what was written is still delivered, unless something arrived that was
/// not read, and then a TCP peer gets connection_reset.
class BRAID_API stream_socket : public byte_stream {
 public:
  stream_socket() = default;

  /// Connects to one address. Errors: the system's, such as connection_refused, timed_out, network_unreachable.
  /// A Unix listener whose backlog is full is asked again until it has room. Use it with a deadline: TCP by itself
  /// gives up after two minutes.
  [[nodiscard]] static auto connect(loop& on, socket_address to, stream_options options = {})
      -> task<result<stream_socket>>;
  /// Takes a connected socket over, and makes it non-blocking. Errors: not_a_socket, and the system's.
  [[nodiscard]] static auto adopt(loop& on, descriptor connected) -> result<stream_socket>;
  /// Two Unix sockets that are connected to each other. Errors: the system's.
  [[nodiscard]] static auto pair(loop& on) -> result<std::pair<stream_socket, stream_socket>>;

  /// Ends one direction: the peer reads to the end of what was written before. Errors: not_connected; the system's.
  [[nodiscard]] auto shutdown(socket_side side) const noexcept -> result<void>;

  /// Errors of all three: not_connected; the system's.
  [[nodiscard]] auto local_address() const -> result<socket_address>;
  [[nodiscard]] auto peer_address() const -> result<socket_address>;
  [[nodiscard]] auto set_options(const stream_options& options) const noexcept -> result<void>;

 private:
  friend class stream_listener;
  stream_socket(loop& on, descriptor owned, int family)
      : byte_stream(on, std::move(owned),
                    family == AF_UNIX ? detail::io_registration::kind::socket : detail::io_registration::kind::tcp) {}
};

}  // namespace braid
