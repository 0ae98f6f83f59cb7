// braid/io/tls.hpp: TLS over a stream, and a stream that may use TLS or not.
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

/// The errors that a program may want to distinguish. The category has many more values than these: 4096 and a number
/// is what OpenSSL says of a certificate (X509_V_ERR_…), and a greater value is an error of OpenSSL as its error queue
/// has it.
enum class tls_errc {
  truncated = 1,            ///< the connection ended without the peer's close notice
  no_application_protocol,  ///< both sides name protocols (ALPN), but they have no protocol in common
  no_client_certificate,    ///< the server requires a certificate, and the client has no certificate

  certificate_not_yet_valid = 4096 + 9,
  certificate_expired = 4096 + 10,
  self_signed = 4096 + 18,           ///< the certificate vouches for itself, and is not configured as trusted
  self_signed_in_chain = 4096 + 19,  ///< the chain ends at an authority that is not configured as trusted
  unknown_issuer = 4096 + 20,        ///< the certificate is signed by an unknown authority
  wrong_purpose = 4096 + 26,         ///< the certificate is for something else, such as a client's for a server
  wrong_host = 4096 + 62,            ///< the certificate is for other names
  wrong_address = 4096 + 64,         ///< the certificate is for other IP addresses
  key_too_small = 4096 + 66,
  authority_key_too_small = 4096 + 67,
  digest_too_weak = 4096 + 68,  ///< something in the chain is signed with SHA-1 or MD5
};

namespace detail {

/// Returns the category of `tls_errc` and of all errors of OpenSSL; its messages are OpenSSL's if it has one.
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

/// A handle of settings that are checked and loaded once, and shared by connections; copies name the same. A client's
/// context keeps the last session of each host by itself. TLS 1.2 and 1.3; ciphers with forward secrecy only; keys of
/// fewer than 112 bits of security and SHA-1 are refused; no compression, no renegotiation, no early data. Revocation
/// of certificates is not looked up.
/// Threads: any; connections of several loops share one.
/// Lifetime: connections keep it; `handshakes` outlives them all, and has ended before their loops are destroyed.
class BRAID_API tls_context {
 public:
  /// PEM text, or the file that has it; or nothing. Keys that are locked by a password are refused. Threads: as any
  /// value.
  class BRAID_API pem {
   public:
    pem() = default;
    [[nodiscard]] static auto text(std::string value) -> pem { return {kind::text, std::move(value)}; }
    [[nodiscard]] static auto file(std::string path) -> pem { return {kind::file, std::move(path)}; }

    [[nodiscard]] explicit operator bool() const noexcept { return kind_ != kind::none; }
    /// Returns the text.
    /// Blocks: to read the file. Errors: the system's; errc::invalid_argument if there is neither text nor file;
    /// file_too_large beyond 16 MiB.
    [[nodiscard]] auto load() const -> result<std::string>;

   private:
    enum class kind : std::uint8_t { none, text, file };
    pem(kind form, std::string value) : kind_(form), value_(std::move(value)) {}

    kind kind_ = kind::none;
    std::string value_;
  };

  /// Certificate chain and private key, by which a side proves its identity.
  struct identity {
    tls_context::pem chain;  ///< its own certificate first, then the certificates of the intermediate authorities
    tls_context::pem key;    ///< the key of its own certificate
  };

  /// The versions of TLS that are spoken.
  enum class version : std::uint8_t { tls_1_2, tls_1_3 };

  /// How a client checks the certificate of a server.
  enum class verification : std::uint8_t {
    none,  ///< any program may answer in the server's place: for tests
    peer,  ///< the chain must end at a trusted authority, and the certificate be for the host
  };

  /// Whether a server asks its clients for certificates.
  enum class client_certificate : std::uint8_t {
    none,      ///< not asked for
    asked,     ///< a client may have one, which then must be good
    required,  ///< a client without one is refused
  };

  /// The options of the context of a client.
  struct client_options {
    /// the only trusted authorities; if empty, the system's authorities are trusted
    tls_context::pem authorities = {};
    tls_context::verification verification = tls_context::verification::peer;
    std::optional<tls_context::identity> identity = {};  ///< used if a server asks for a client's certificate
    std::vector<std::string> protocols = {};             ///< for ALPN, the best first
    tls_context::version min_version = tls_context::version::tls_1_2;
    duration handshake_timeout = 10s;
    /// runs the steps of handshakes; if null, they run on the loop, which waits for them
    executor* handshakes = nullptr;
    /// the number of hosts whose last session is kept for resumption; 0: no session is kept
    std::size_t max_sessions = 256;
  };

  /// The options of the context of a server.
  struct server_options {
    tls_context::identity identity = {};
    tls_context::client_certificate client_certificate = tls_context::client_certificate::none;
    /// the authorities whose clients are trusted; required if clients are asked for certificates
    tls_context::pem client_authorities = {};
    std::vector<std::string> protocols = {};  ///< for ALPN, the best first; a client that offers only others is refused
    tls_context::version min_version = tls_context::version::tls_1_2;
    duration handshake_timeout = 10s;
    /// runs the steps of handshakes; if null, they run on the loop, which waits for them
    executor* handshakes = nullptr;
    bool resumption = true;  ///< clients get tickets, which only this context can read
  };

  /// Blocks: to read files, and the first time to load OpenSSL.
  /// Errors: errc::invalid_argument for contradicting options, such as a protocol's name that is empty or longer than
  /// 255 bytes; OpenSSL's error for a certificate or key, for instance if they do not belong together or are too weak;
  /// the system's for files; ELIBACC if OpenSSL, or the part of the library that calls it, cannot be loaded.
  [[nodiscard]] static auto client(const client_options& how) -> result<tls_context>;
  [[nodiscard]] static auto client() -> result<tls_context> { return client(client_options()); }
  /// Does the same for a server. Also returns errc::invalid_argument if clients are asked for certificates, and no
  /// authority is trusted.
  [[nodiscard]] static auto server(const server_options& how) -> result<tls_context>;

 private:
  friend class tls_stream;
  explicit tls_context(std::shared_ptr<const detail::tls_setup> setup) noexcept : setup_(std::move(setup)) {}

  std::shared_ptr<const detail::tls_setup> setup_;
};

namespace detail {
class tls_connection;
}

/// One end of a TLS connection whose handshake is complete. One task reads at a time, and one writes or shuts down;
/// both may be active at once. A stop or a deadline withdraws a wait, and the stream can still be used.
/// Threads: the loop's own. Lifetime: outlives its reads and writes; ends before its loop. Errors: tls_errc and all
/// other errors of `tls_category`, after which neither direction can be used; the socket's. Cost: OpenSSL's state; 4
/// KiB for received data, 32 KiB if much arrives at once. A write encrypts on the loop.
/// Protocol: docs/design/tls.md
class BRAID_API tls_stream {
 public:
  tls_stream();
  tls_stream(tls_stream&& other) noexcept;
  auto operator=(tls_stream&& other) noexcept -> tls_stream&;
  /// Closes the socket. Without a `shutdown` before, the peer sees a connection that was cut.
  ~tls_stream();

  /// Performs the handshake as the client of `host`, a name or an IP address, which the server's certificate must be
  /// for. A name is sent to the server (SNI). Requires the context of a client. If the server refuses the client's
  /// certificate, the first read reports it.
  /// Errors: those of verification; errc::deadline_exceeded after the context's time; errc::invalid_argument if `host`
  /// is not a valid host; errc::closed if the executor for handshakes accepts no more work. The socket is closed then.
  [[nodiscard]] static auto connect(tls_context as, stream_socket through, std::string host)
      -> task<result<tls_stream>>;
  /// Shakes hands as the server. Requires the context of a server. Errors: as `connect`.
  [[nodiscard]] static auto accept(tls_context as, stream_socket through) -> task<result<tls_stream>>;

  [[nodiscard]] explicit operator bool() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] auto on() const noexcept -> loop& { return socket().on(); }
  /// Returns the connection below: for its addresses and options, and to break it off by `shutdown`. Requires an open
  /// stream.
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  /// Waits until bytes have arrived, and copies as many as possible to the front of `buffer`, which must not be empty.
  /// Returns 0 if the peer has ended its side.
  /// Errors: tls_errc::truncated if the connection ends without that.
  [[nodiscard]] auto read_some(std::span<std::byte> buffer) const -> task<result<std::size_t>>;

  /// Fills `buffer`.
  /// Errors: errc::ended if the peer ends first. If a stop interrupts the call, the bytes that it had read are lost.
  [[nodiscard]] auto read_exactly(std::span<std::byte> buffer) const -> task<result<void>>;

  /// Writes all of `bytes`. A stop in between leaves a part written. Errors: broken_pipe after `shutdown`.
  [[nodiscard]] auto write_all(std::span<const std::byte> bytes) const -> task<result<void>>;

  BRAID_COROUTINE_WRAPPER [[nodiscard]] auto write_all(std::string_view text) const -> task<result<void>> {
    return write_all(bytes_of(text));
  }

  /// Writes all parts, one after the other, in records that are as full as can be.
  [[nodiscard]] auto write_all(std::span<const std::span<const std::byte>> parts) const -> task<result<void>>;

  /// Notifies the peer that nothing more will be sent, and ends that direction of the socket. Reading still works.
  [[nodiscard]] auto shutdown() const -> task<result<void>>;

  /// Shuts down without waiting, before the stream is closed: it sends as much as the socket accepts at once. Returns
  /// false if that is not everything, or if the stream has failed before: then the peer sees a truncated connection.
  auto try_shutdown() const noexcept -> bool;

  /// Moves the stream to another loop, as `byte_stream::move_to`. The handshake has waited, so call it on the loop's
  /// own thread.
  void move_to(loop& other) noexcept;

  /// Closes it at once. Requires that no task reads or writes.
  void close() noexcept;

  /// Returns whether everything that was received has been read, and the peer has not ended its side. It does not check
  /// for bytes that are still in the socket.
  [[nodiscard]] auto is_drained() const noexcept -> bool;

  /// Returns the protocol that ALPN selected, or an empty string.
  /// Lifetime: of the stream.
  [[nodiscard]] auto protocol() const noexcept -> std::string_view;
  [[nodiscard]] auto version() const noexcept -> tls_context::version;
  /// Returns whether the handshake was abbreviated, because it resumed an earlier session.
  [[nodiscard]] auto resumed() const noexcept -> bool;
  /// Returns the name that the client asked for, or an empty string.
  /// Lifetime: of the stream.
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

/// Ends the side of writing: the peer reads to the end of the bytes that were written before. Threads: the loop's own.
/// Errors: as `shutdown`.
[[nodiscard]] inline auto end_writing(const stream_socket& of) -> task<result<void>> {
  co_return of.shutdown(stream_socket::side::write);
}
BRAID_COROUTINE_WRAPPER [[nodiscard]] inline auto end_writing(const tls_stream& of) -> task<result<void>> {
  return of.shutdown();
}

/// Returns the connection that the bytes go through: for addresses and options, and to break it off by `shutdown`.
[[nodiscard]] inline auto socket_of(const stream_socket& of) noexcept -> const stream_socket& {
  return of;  // NOLINT(bugprone-return-const-ref-from-parameter): callers keep the socket, as with a tls_stream
}
[[nodiscard]] inline auto socket_of(const tls_stream& of) noexcept -> const stream_socket& { return of.socket(); }

/// A connection whose bytes are read, written and ended in one way, whatever they go through.
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
