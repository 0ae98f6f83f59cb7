// src/io/openssl_setup.hpp: holds OpenSSL's configuration and state for all connections of a TLS context.
#pragma once

#include "openssl_owners.hpp"
#include "openssl_sessions.hpp"
#include "tls_engine.hpp"
#include "tls_setup.hpp"

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace braid::detail {

/// The configuration of a client or server. All connections share this object, which needs no lock, because the SSL_CTX
/// and the session cache lock themselves.
class openssl_setup final : public tls_setup, public std::enable_shared_from_this<openssl_setup> {
 public:
  static auto of_client(const tls_context::client_options& options) -> result<std::shared_ptr<const tls_setup>>;
  static auto of_server(const tls_context::server_options& options) -> result<std::shared_ptr<const tls_setup>>;

  [[nodiscard]] auto open(std::string host) const -> result<std::unique_ptr<tls_engine>> override;

  [[nodiscard]] auto verifies() const noexcept -> bool { return verifies_; }
  /// Returns the SSL_CTX. The pointer is not to const, because OpenSSL counts references inside the SSL_CTX.
  [[nodiscard]] auto context() const noexcept -> SSL_CTX* { return context_.get(); }
  [[nodiscard]] auto sessions() const noexcept -> openssl_sessions& { return sessions_; }

 private:
  openssl_setup(tls_side side, executor* handshakes, duration handshake_timeout, std::string protocols,
                context_ptr context, std::size_t max_sessions)
      : tls_setup(side, handshakes, handshake_timeout, std::move(protocols)),
        context_(std::move(context)),
        sessions_(max_sessions) {}

  template <typename Options>
  static auto begin(tls_side side, const Options& options, std::size_t max_sessions)
      -> result<std::shared_ptr<openssl_setup>>;
  [[nodiscard]] auto set_up_client(const tls_context::client_options& options) -> result<void>;
  [[nodiscard]] auto set_up_server(const tls_context::server_options& options) -> result<void>;

  static auto choose_protocol(SSL* connection, const unsigned char** chosen, unsigned char* size,
                              const unsigned char* offered, unsigned offered_size, void* self) noexcept -> int;

  static auto keep_session(SSL* connection, SSL_SESSION* session) noexcept -> int;

  bool verifies_ = true;
  context_ptr context_;
  mutable openssl_sessions sessions_;
};

}  // namespace braid::detail
