// braid/io/tls_context.hpp: what the TLS connections of a client or a server have in common: keys, trust, protocols.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/tls_error.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace braid {

namespace detail {
class tls_setup;
}

/// PEM text, or the file that has it; or nothing. Keys that are locked by a password are refused. Threads: as any
/// value.
class BRAID_API tls_pem {
 public:
  tls_pem() = default;
  [[nodiscard]] static auto text(std::string value) -> tls_pem { return {kind::text, std::move(value)}; }
  [[nodiscard]] static auto file(std::string path) -> tls_pem { return {kind::file, std::move(path)}; }

  [[nodiscard]] explicit operator bool() const noexcept { return kind_ != kind::none; }
  /// The text. Blocks: to read the file. Errors: the system's; errc::invalid_argument where there is nothing;
  /// file_too_large beyond 16 MiB.
  [[nodiscard]] auto load() const -> result<std::string>;

 private:
  enum class kind : std::uint8_t { none, text, file };
  tls_pem(kind what, std::string value) : kind_(what), value_(std::move(value)) {}

  kind kind_ = kind::none;
  std::string value_;
};

/// Certificate chain and private key, by which a side proves its identity.
struct tls_identity {
  tls_pem chain;  ///< its own certificate first, and then those of the authorities between
  tls_pem key;    ///< of its own certificate
};

/// The versions of TLS that are spoken.
enum class tls_version : std::uint8_t { tls_1_2, tls_1_3 };

/// How a client checks the certificate of a server.
enum class tls_verification : std::uint8_t {
  none,  ///< any program may answer in the server's place: for tests
  peer,  ///< the chain must end at a trusted authority, and the certificate be for the host
};

/// What the context of a client is made from.
struct tls_client_options {
  tls_pem authorities = {};  ///< the only ones that are trusted; without it those of the system are
  tls_verification verification = tls_verification::peer;
  std::optional<tls_identity> identity = {};  ///< for servers that ask for a client's certificate
  std::vector<std::string> protocols = {};    ///< for ALPN, the best first
  tls_version min_version = tls_version::tls_1_2;
  duration handshake_timeout = 10s;
  executor* handshakes = nullptr;  ///< where the steps of handshakes run; null: on the loop, which waits for them
  std::size_t max_sessions = 256;  ///< hosts whose last session is kept, to be resumed; 0: none
};

/// Whether a server asks its clients for certificates.
enum class tls_client_certificate : std::uint8_t {
  none,      ///< not asked for
  asked,     ///< a client may have one, which then must be good
  required,  ///< a client without one is refused
};

/// What the context of a server is made from.
struct tls_server_options {
  tls_identity identity = {};
  tls_client_certificate client_certificate = tls_client_certificate::none;
  tls_pem client_authorities = {};          ///< those whose clients are trusted; needed where clients are asked
  std::vector<std::string> protocols = {};  ///< for ALPN, the best first; a client that offers only others is refused
  tls_version min_version = tls_version::tls_1_2;
  duration handshake_timeout = 10s;
  executor* handshakes = nullptr;  ///< where the steps of handshakes run; null: on the loop, which waits for them
  bool resumption = true;          ///< clients get tickets, which only this context can read
};

/// A handle of what is checked and loaded once, and shared by connections; copies name the same.
/// A client's context keeps the last session of each host by itself. TLS 1.2 and 1.3; ciphers with forward secrecy
/// only; keys of fewer than 112 bits of security and SHA-1 are refused; no compression, no renegotiation, no early
/// data. Revocation of certificates is not looked up.
/// Threads: any; connections of several loops share one.
/// Lifetime: connections keep it; `handshakes` outlives them all, and has ended before their loops are destroyed.
class BRAID_API tls_context {
 public:
  /// Blocks: to read files, and the first time to load OpenSSL. Errors: errc::invalid_argument for what contradicts
  /// itself: a protocol's name that is empty or longer than 255 bytes; what OpenSSL says of a certificate or key, such
  /// as that they do not belong together or are too weak; the system's for files; ELIBACC where OpenSSL, or the part of
  /// the library that calls it, cannot be loaded.
  [[nodiscard]] static auto client(const tls_client_options& options = {}) -> result<tls_context>;
  /// As `client`. errc::invalid_argument also where clients are asked for certificates, and none could be trusted.
  [[nodiscard]] static auto server(const tls_server_options& options) -> result<tls_context>;

 private:
  friend class tls_stream;
  explicit tls_context(std::shared_ptr<const detail::tls_setup> setup) noexcept : setup_(std::move(setup)) {}

  std::shared_ptr<const detail::tls_setup> setup_;
};

}  // namespace braid
