// braid/io/tls.hpp: TLS connections, and a connection type that works with or without TLS.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// TLS errors that a program may need to distinguish. The error category has many more values. A value of 4096 + n is
/// the certificate error n of OpenSSL (X509_V_ERR_…). A greater value is an error of OpenSSL's error queue.
enum class tls_errc {
  truncated = 1,            ///< the connection ended without the peer's close notice
  no_application_protocol,  ///< both sides name protocols (ALPN), but they have no protocol in common
  no_client_certificate,    ///< the server requires a certificate, and the client has no certificate

  certificate_not_yet_valid = 4096 + 9,
  certificate_expired = 4096 + 10,
  self_signed = 4096 + 18,           ///< the certificate is signed by its own key, and is not configured as trusted
  self_signed_in_chain = 4096 + 19,  ///< the chain ends at an authority that is not configured as trusted
  unknown_issuer = 4096 + 20,        ///< the certificate is signed by an unknown authority
  wrong_purpose = 4096 + 26,         ///< the certificate has another purpose, such as a client's for a server
  wrong_host = 4096 + 62,            ///< the certificate is for other names
  wrong_address = 4096 + 64,         ///< the certificate is for other IP addresses
  key_too_small = 4096 + 66,
  authority_key_too_small = 4096 + 67,
  digest_too_weak = 4096 + 68,  ///< a certificate of the chain is signed with SHA-1 or MD5
};

namespace detail {

/// Returns the category of `tls_errc` and of all OpenSSL errors. It uses OpenSSL's messages if they exist.
/// Threads: any.
BRAID_API auto tls_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts a `tls_errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(tls_errc code) noexcept -> std::error_code;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::tls_errc> : std::true_type {};

namespace braid {

namespace detail {
class tls_setup;
}

/// A handle of TLS settings. The settings are checked and loaded once, and shared by connections and by copies of the
/// handle. The context of a client also stores the last session of each host. The supported versions are TLS 1.2 and
/// 1.3, and all ciphers have forward secrecy. Keys with less than 112 bits of security, and signatures that use SHA-1,
/// are refused. There is no compression, no renegotiation, and no early data. Revocation of certificates is not
/// checked.
/// Threads: any; connections of several loops may share one context.
/// Lifetime: connections keep the settings alive. The executor `handshakes` must outlive the settings; the jobs of this
/// executor must have ended before the loops are destroyed.
class BRAID_API tls_context {
 public:
  /// PEM data: the text itself, the name of a file, or nothing. Password-protected keys are refused. Threads: one at a
  /// time may change an object; any number may read it.
  class BRAID_API pem {
   public:
    pem() = default;
    [[nodiscard]] static auto text(std::string value) -> pem { return {kind::text, std::move(value)}; }
    [[nodiscard]] static auto file(std::string path) -> pem { return {kind::file, std::move(path)}; }

    [[nodiscard]] explicit operator bool() const noexcept { return kind_ != kind::none; }
    /// Returns the PEM text.
    /// Blocks: while it reads the file. Errors: system errors; errc::invalid_argument if the object has no text and no
    /// file name; file_too_large if the file is larger than 16 MiB.
    [[nodiscard]] auto load() const -> result<std::string>;

   private:
    enum class kind : std::uint8_t { none, text, file };
    pem(kind form, std::string value) : kind_(form), value_(std::move(value)) {}

    kind kind_ = kind::none;
    std::string value_;
  };

  /// A certificate chain and its private key, with which a side proves its identity.
  struct identity {
    tls_context::pem chain;  ///< its own certificate first, then the certificates of the intermediate authorities
    tls_context::pem key;    ///< the key of its own certificate
  };

  /// The supported versions of TLS.
  enum class version : std::uint8_t { tls_1_2, tls_1_3 };

  /// Selects how a client checks the certificate of a server.
  enum class verification : std::uint8_t {
    none,  ///< the server is not verified, so any program can pretend to be it: for tests
    peer,  ///< the chain must end at a trusted authority, and the certificate must be for the host
  };

  /// Selects whether a server requests certificates from its clients.
  enum class client_certificate : std::uint8_t {
    none,      ///< no certificate is requested
    asked,     ///< a client may have a certificate, which must then be valid
    required,  ///< a client without a certificate is refused
  };

  /// The options of the context of a client.
  struct client_options {
    /// The trusted authorities. If no authorities are given, the system's authorities are trusted.
    tls_context::pem authorities = {};
    tls_context::verification verification = tls_context::verification::peer;
    std::optional<tls_context::identity> identity = {};  ///< used if a server requests a client's certificate
    std::vector<std::string> protocols = {};             ///< the protocols for ALPN, best first
    tls_context::version min_version = tls_context::version::tls_1_2;
    duration handshake_timeout = 10s;
    /// The executor that runs the steps of handshakes. If it is null, these steps run on the loop and block it.
    executor* handshakes = nullptr;
    /// The number of hosts for which the last session is kept for resumption. 0 disables resumption.
    std::size_t max_sessions = 256;
  };

  /// The options of the context of a server.
  struct server_options {
    tls_context::identity identity = {};
    tls_context::client_certificate client_certificate = tls_context::client_certificate::none;
    /// The authorities whose client certificates are trusted. These are required if client certificates are requested.
    tls_context::pem client_authorities = {};
    std::vector<std::string> protocols = {};  ///< for ALPN, best first; a client without any of them is refused
    tls_context::version min_version = tls_context::version::tls_1_2;
    duration handshake_timeout = 10s;
    /// The executor that runs the steps of handshakes. If it is null, these steps run on the loop and block it.
    executor* handshakes = nullptr;
    bool resumption = true;  ///< clients get tickets, which only this context can read
  };

  /// Creates the context of a client. Blocks: while it reads files, and the first time while it loads OpenSSL.
  /// Errors: errc::invalid_argument for invalid options, such as a protocol name that is empty or longer than 255
  /// bytes. OpenSSL's error for a certificate or key, for instance if they do not match or are too weak. System errors
  /// for files. ELIBACC if OpenSSL, or the part of the library that uses it, cannot be loaded.
  [[nodiscard]] static auto client(const client_options& options) -> result<tls_context>;
  [[nodiscard]] static auto client() -> result<tls_context> { return client(client_options()); }
  /// Creates the context of a server. Errors: the same as for a client; in addition, errc::invalid_argument if client
  /// certificates are requested but no authority is trusted.
  [[nodiscard]] static auto server(const server_options& options) -> result<tls_context>;

  /// Returns whether the protocols of the options contain `protocol`.
  [[nodiscard]] auto offers(std::string_view protocol) const noexcept -> bool;

 private:
  friend class tls_stream;
  explicit tls_context(std::shared_ptr<const detail::tls_setup> setup) noexcept : setup_(std::move(setup)) {}

  std::shared_ptr<const detail::tls_setup> setup_;
};

namespace detail {
class tls_connection;
}

/// One end of a TLS connection, after the handshake. One task reads at a time, and one writes or shuts down; both may
/// be active at once. A stop or a deadline ends a wait early, and the stream can still be used.
/// Threads: the loop's thread. Lifetime: the stream must outlive its reads and writes, and must be destroyed before its
/// loop. Errors: tls_errc and all other errors of `tls_category`, after which the stream can no longer be used; errors
/// of the socket. Cost: memory for OpenSSL's state, and 4 KiB for received data, or 32 KiB if much data arrives at
/// once. Data is encrypted on the loop's thread. Protocol: docs/design/tls.md
class BRAID_API tls_stream {
 public:
  tls_stream();
  tls_stream(tls_stream&& other) noexcept;
  auto operator=(tls_stream&& other) noexcept -> tls_stream&;
  /// Closes the socket. Without an earlier `shutdown`, the peer gets an error for a truncated connection.
  ~tls_stream();

  /// Performs the handshake as the client of `host`, a name or an IP address. The server's certificate must be valid
  /// for that host. A name is sent to the server (SNI). Requires the context of a client. If the server refuses the
  /// client's certificate, the first read returns the error.
  /// Errors: verification errors; errc::deadline_exceeded if the context's time limit has passed;
  /// errc::invalid_argument if `host` is not a valid host; errc::closed if the executor for handshakes accepts no more
  /// work. The socket is closed after an error.
  [[nodiscard]] static auto connect(tls_context as, stream_socket through, std::string host)
      -> task<result<tls_stream>>;
  /// Performs the handshake as the server. Requires the context of a server. Errors: the errors of `connect`.
  [[nodiscard]] static auto accept(tls_context as, stream_socket through) -> task<result<tls_stream>>;

  [[nodiscard]] explicit operator bool() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] auto on() const noexcept -> loop& { return socket().on(); }
  /// Returns the underlying connection. You can use its addresses and options, or cut the connection by its `shutdown`.
  /// Requires an open stream.
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  /// Waits for bytes, and copies as many as possible to the front of `buffer`, which must not be empty. Returns the
  /// number of copied bytes. Returns 0 if the peer has ended its side. Errors: tls_errc::truncated if the connection
  /// ends although the peer has not ended its side.
  [[nodiscard]] auto read_some(std::span<std::byte> buffer) const -> task<result<std::size_t>>;

  /// Fills `buffer`.
  /// Errors: errc::ended if the peer ends first. If a stop interrupts the call, the bytes that it had read are lost.
  [[nodiscard]] auto read_exactly(std::span<std::byte> buffer) const -> task<result<void>>;

  /// Writes all of `bytes`. If a stop interrupts the call, a part may have been written. Errors: broken_pipe after
  /// `shutdown`.
  [[nodiscard]] auto write_all(std::span<const std::byte> bytes) const -> task<result<void>>;

  BRAID_COROUTINE_WRAPPER [[nodiscard]] auto write_all(std::string_view text) const -> task<result<void>> {
    return write_all(bytes_of(text));
  }

  /// Writes all parts, one after the other, in TLS records that are as full as possible.
  [[nodiscard]] auto write_all(std::span<const std::span<const std::byte>> parts) const -> task<result<void>>;

  /// Notifies the peer that no more data will be sent, and ends the sending direction of the socket. Reading is still
  /// possible.
  [[nodiscard]] auto shutdown() const -> task<result<void>>;

  /// Shuts down without waiting. Call it just before the stream is closed. It sends as much as the socket accepts at
  /// once. Returns false if the socket did not accept everything, or if the stream had failed before. In that case the
  /// peer gets an error for a truncated connection.
  auto try_shutdown() const noexcept -> bool;

  /// Moves the stream to another loop, as `byte_stream::move_to` does. Call it on the thread of the current loop,
  /// because the handshake has waited on that loop.
  void move_to(loop& other) noexcept;

  /// Closes the stream at once. Requires that no task reads or writes.
  void close() noexcept;

  /// Returns whether all received bytes have been read, and the peer has not ended its side. Does not check for bytes
  /// that are still in the socket.
  [[nodiscard]] auto is_drained() const noexcept -> bool;

  /// Returns the protocol that ALPN selected, or an empty string.
  /// Lifetime: the result is valid as long as the stream.
  [[nodiscard]] auto protocol() const noexcept -> std::string_view;
  [[nodiscard]] auto version() const noexcept -> tls_context::version;
  /// Returns whether the handshake was abbreviated, because it resumed an earlier session.
  [[nodiscard]] auto resumed() const noexcept -> bool;
  /// Returns the server name that the client requested, or an empty string.
  /// Lifetime: the result is valid as long as the stream.
  [[nodiscard]] auto server_name() const noexcept -> std::string_view;
  /// Returns the peer's own certificate as DER, or nothing if it sent no certificate.
  [[nodiscard]] auto peer_certificate() const -> std::vector<std::byte>;

 private:
  explicit tls_stream(std::unique_ptr<detail::tls_connection> link) noexcept;
  [[nodiscard]] auto link() const noexcept -> detail::tls_connection&;

  std::unique_ptr<detail::tls_connection> connection_;
};

namespace detail {

template <typename Awaitable>
auto operand_of_await(Awaitable&& from) -> decltype(auto) {
  if constexpr (requires { std::forward<Awaitable>(from).operator co_await(); })
    return std::forward<Awaitable>(from).operator co_await();
  else
    return std::forward<Awaitable>(from);
}

template <typename Awaitable, typename Result>
concept awaited_as = requires(Awaitable from) {
  { operand_of_await(std::move(from)).await_resume() } -> std::same_as<Result>;
};

}  // namespace detail

/// Ends the writing direction. The peer can still read the bytes that were written before. Threads: the loop's thread.
/// Errors: the errors of `shutdown`.
[[nodiscard]] inline auto end_writing(const stream_socket& stream) -> task<result<void>> {
  co_return stream.shutdown(stream_socket::side::write);
}
BRAID_COROUTINE_WRAPPER [[nodiscard]] inline auto end_writing(const tls_stream& stream) -> task<result<void>> {
  return stream.shutdown();
}

/// Returns the underlying connection. You can use its addresses and options, or cut the connection by its `shutdown`.
[[nodiscard]] inline auto socket_of(const stream_socket& stream) noexcept -> const stream_socket& {
  return stream;  // NOLINT(bugprone-return-const-ref-from-parameter): callers keep the socket, as with a tls_stream
}
[[nodiscard]] inline auto socket_of(const tls_stream& stream) noexcept -> const stream_socket& {
  return stream.socket();
}

/// The concept of a connection that may or may not use TLS: both kinds have the same functions to read, to write and to
/// end.
template <typename Stream>
concept transport = std::movable<Stream> &&
                    requires(const Stream& stream, Stream& open, std::span<std::byte> buffer,
                             std::span<const std::byte> bytes, std::span<const std::span<const std::byte>> parts) {
                      { stream.read_some(buffer) } -> detail::awaited_as<result<std::size_t>>;
                      { stream.read_exactly(buffer) } -> detail::awaited_as<result<void>>;
                      { stream.write_all(bytes) } -> detail::awaited_as<result<void>>;
                      { stream.write_all(parts) } -> detail::awaited_as<result<void>>;
                      { end_writing(stream) } -> detail::awaited_as<result<void>>;
                      { socket_of(stream) } -> std::same_as<const stream_socket&>;
                      { stream.on() } -> std::same_as<loop&>;
                      open.close();
                    };

static_assert(transport<stream_socket>);
static_assert(transport<tls_stream>);

}  // namespace braid
