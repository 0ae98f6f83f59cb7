// braid/io/tls_stream.hpp: a connection by TLS, with the operations of a plain one.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/io/tls_context.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

namespace detail {
class tls_connection;
}

/// One end of a TLS connection whose handshake is done. One task reads at a time, and one writes or shuts down; both
/// may be at it at once. A stop or a deadline withdraws a wait, and the stream can be used on.
/// Threads: the loop's own. Lifetime: outlives its reads and writes; ends before its loop.
/// Errors: tls_errc and all else of `tls_category`, after which neither direction can be used; the socket's.
/// Cost: OpenSSL's state; 4 KiB for what is received, 32 where much comes at once. A write encrypts on the loop.
/// Protocol: docs/design/tls.md
class BRAID_API tls_stream {
 public:
  tls_stream();
  tls_stream(tls_stream&& other) noexcept;
  auto operator=(tls_stream&& other) noexcept -> tls_stream&;
  /// Closes the socket. Without a `shutdown` before, the peer sees a connection that was cut.
  ~tls_stream();

  /// Shakes hands as the client of `host`, a name or an IP address, which the server's certificate must be for. A name
  /// is sent to the server (SNI). Requires the context of a client. A server that refuses the client's certificate says
  /// so in the first read.
  /// Errors: those of verification; errc::deadline_exceeded after the context's time; errc::invalid_argument for a host
  /// that is none; errc::closed where the executor for handshakes takes nothing more. The socket is closed then.
  [[nodiscard]] static auto connect(tls_context as, stream_socket through, std::string host)
      -> task<result<tls_stream>>;
  /// Shakes hands as the server. Requires the context of a server. Errors: as `connect`.
  [[nodiscard]] static auto accept(tls_context as, stream_socket through) -> task<result<tls_stream>>;

  [[nodiscard]] explicit operator bool() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] auto on() const noexcept -> loop& { return socket().on(); }
  /// The connection below: for its addresses and options, and to break it off by `shutdown`. Requires an open stream.
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  /// Waits until there is something, and puts as much as there is into the front of `into`, which is not empty. 0: the
  /// peer has ended its side. Errors: tls_errc::truncated where the connection ends without that.
  [[nodiscard]] auto read_some(std::span<std::byte> into) const -> task<result<std::size_t>>;

  /// Fills `into`. Errors: errc::ended where the peer ends before. A stop in between loses what was read.
  [[nodiscard]] auto read_exactly(std::span<std::byte> into) const -> task<result<void>>;

  /// Writes all of `bytes`. A stop in between leaves a part written. Errors: broken_pipe after `shutdown`.
  [[nodiscard]] auto write_all(std::span<const std::byte> bytes) const -> task<result<void>>;

  [[nodiscard]] auto write_all(std::string_view text) const -> task<result<void>> { return write_all(bytes_of(text)); }

  /// Writes all parts, one behind the other, in records that are as full as can be.
  [[nodiscard]] auto write_all(std::span<const std::span<const std::byte>> parts) const -> task<result<void>>;

  /// Notifies the peer that nothing more will come, and ends that direction of the socket. Reading goes on.
  [[nodiscard]] auto shutdown() const -> task<result<void>>;

  /// The same without waiting, before a close of the stream: as much goes as the socket takes at once. False
  /// where that is not all, or where the stream has failed before: then the peer sees a connection that was cut.
  auto try_shutdown() const noexcept -> bool;

  /// As `byte_stream::move_to`. The handshake has waited, so its loop's own thread does this.
  void move_to(loop& other) noexcept;

  /// Closes it at once. Requires that no task reads or writes.
  void close() noexcept;

  /// Whether everything that was received has been read, and the peer has not ended its side. What still lies in the
  /// socket is not looked at.
  [[nodiscard]] auto is_drained() const noexcept -> bool;

  /// What was agreed on by ALPN; empty where nothing was. Lifetime: of the stream.
  [[nodiscard]] auto protocol() const noexcept -> std::string_view;
  [[nodiscard]] auto version() const noexcept -> tls_version;
  /// Whether the handshake was a short one, which went on from an earlier session.
  [[nodiscard]] auto resumed() const noexcept -> bool;
  /// The name that the client asked for; empty where it gave none. Lifetime: of the stream.
  [[nodiscard]] auto server_name() const noexcept -> std::string_view;
  /// The peer's own certificate as DER; empty where it gave none.
  [[nodiscard]] auto peer_certificate() const -> std::vector<std::byte>;

 private:
  explicit tls_stream(std::unique_ptr<detail::tls_connection> link) noexcept;
  [[nodiscard]] auto link() const noexcept -> detail::tls_connection&;

  std::unique_ptr<detail::tls_connection> connection_;
};

}  // namespace braid
