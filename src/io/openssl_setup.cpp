// src/io/openssl_setup.cpp: configures OpenSSL for all connections of a TLS context.
#include "openssl_setup.hpp"

#include "openssl_engine.hpp"
#include "openssl_error.hpp"
#include "openssl_identity.hpp"

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/err.h>

namespace braid::detail {
namespace {

constexpr int security_level = 2;                                      // 112 bits: RSA of 2048, no SHA-1
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";  // with forward secrecy and authentication
constexpr std::size_t max_protocol = 255;

/// Encodes protocol names for the ALPN extension: each name follows one byte that contains the length of the name.
auto wire_form(const std::vector<std::string>& protocols) -> result<std::string> {
  constexpr std::size_t max_list = 65535;
  std::string all;
  for (const std::string& name : protocols) {
    if (name.empty() || name.size() > max_protocol) return fail(errc::invalid_argument);
    all += static_cast<char>(name.size());
    all += name;
  }
  if (all.size() > max_list) return fail(errc::invalid_argument);
  return all;
}

auto bytes_in(std::string_view text) noexcept -> const unsigned char* {
  return reinterpret_cast<const unsigned char*>(text.data());
}

auto set_common(SSL_CTX* context, tls_context::version min_version) -> result<void> {
  ::SSL_CTX_set_security_level(context, security_level);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  const int lowest = min_version == tls_context::version::tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
  const bool taken =
      ::SSL_CTX_set_min_proto_version(context, lowest) == 1 && ::SSL_CTX_set_cipher_list(context, ciphers_of_1_2) == 1;
  if (!taken) return fail(tls_failure());
  return {};
}

}  // namespace

template <typename Options>
auto openssl_setup::begin(tls_side side, const Options& options, std::size_t max_sessions)
    -> result<std::shared_ptr<openssl_setup>> {
  auto protocols = wire_form(options.protocols);
  if (!protocols) return fail(protocols.error());
  ::ERR_clear_error();
  context_ptr context(::SSL_CTX_new(side == tls_side::client ? ::TLS_client_method() : ::TLS_server_method()));
  if (context == nullptr) return fail(tls_failure());
  if (auto set = set_common(context.get(), options.min_version); !set) return fail(set.error());
  return std::shared_ptr<openssl_setup>(new openssl_setup(side, options.handshakes, options.handshake_timeout,
                                                          std::move(*protocols), std::move(context), max_sessions));
}

auto openssl_setup::of_client(const tls_context::client_options& options) -> result<std::shared_ptr<const tls_setup>> {
  auto made = begin(tls_side::client, options, options.max_sessions);
  if (!made) return fail(made.error());
  if (auto set = (*made)->set_up_client(options); !set) return fail(set.error());
  return *made;
}

auto openssl_setup::of_server(const tls_context::server_options& options) -> result<std::shared_ptr<const tls_setup>> {
  auto made = begin(tls_side::server, options, 0);
  if (!made) return fail(made.error());
  if (auto set = (*made)->set_up_server(options); !set) return fail(set.error());
  return *made;
}

auto openssl_setup::open(std::string host) const -> result<std::unique_ptr<tls_engine>> {
  return openssl_engine::create(shared_from_this(), std::move(host));
}

auto openssl_setup::set_up_client(const tls_context::client_options& options) -> result<void> {
  SSL_CTX* const context = context_.get();
  verifies_ = options.verification == tls_context::verification::peer;
  ::SSL_CTX_set_verify(context, verifies_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  // The client's sessions are stored in `openssl_sessions`: OpenSSL passes each new session to the callback below.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  ::SSL_CTX_sess_set_new_cb(context, &openssl_setup::keep_session);
  SSL_CTX_set_app_data(context, this);
  const auto size = static_cast<unsigned>(protocols().size());
  if (size != 0 && ::SSL_CTX_set_alpn_protos(context, bytes_in(protocols()), size) != 0) return fail(tls_failure());
  if (options.identity)
    if (auto used = use_identity(context, *options.identity); !used) return used;
  if (!verifies_) return {};
  if (options.authorities) return trust(context, options.authorities);
  if (::SSL_CTX_set_default_verify_paths(context) != 1) return fail(tls_failure());
  return {};
}

auto openssl_setup::set_up_server(const tls_context::server_options& options) -> result<void> {
  SSL_CTX* const context = context_.get();
  // A ticket contains the whole session, encrypted with a key of this context. So the server neither stores sessions
  // nor shares them between threads.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (!options.resumption) {
    ::SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    ::SSL_CTX_set_num_tickets(context, 0);
  }
  constexpr std::string_view name = "braid";
  ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(name.data()), name.size());
  if (!protocols().empty()) ::SSL_CTX_set_alpn_select_cb(context, &openssl_setup::choose_protocol, this);
  verifies_ = options.client_certificate != tls_context::client_certificate::none;
  if (verifies_ != static_cast<bool>(options.client_authorities)) return fail(errc::invalid_argument);
  const int refuses =
      options.client_certificate == tls_context::client_certificate::required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  ::SSL_CTX_set_verify(context, verifies_ ? SSL_VERIFY_PEER | refuses : SSL_VERIFY_NONE, nullptr);
  if (auto used = use_identity(context, options.identity); !used) return used;
  return verifies_ ? trust(context, options.client_authorities) : result<void>();
}

auto openssl_setup::choose_protocol(SSL* /*connection*/, const unsigned char** chosen, unsigned char* size,
                                    const unsigned char* offered, unsigned offered_size, void* self) noexcept -> int {
  const std::string_view ours = static_cast<const openssl_setup*>(self)->protocols();
  unsigned char* at = nullptr;
  const int found =
      ::SSL_select_next_proto(&at, size, bytes_in(ours), static_cast<unsigned>(ours.size()), offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = at;
  return SSL_TLSEXT_ERR_OK;
}

auto openssl_setup::keep_session(SSL* connection, SSL_SESSION* session) noexcept -> int {
  const auto* const self = static_cast<const openssl_setup*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(connection)));
  const auto* const host = static_cast<const std::string*>(SSL_get_app_data(connection));
  try {
    if (!host->empty()) self->sessions_.keep(*host, session);
  } catch (...) {  // without memory there is a full handshake next time
  }
  return 0;  // the reference stays OpenSSL's
}

}  // namespace braid::detail
