// src/io/openssl_identity.hpp: loads certificates and keys from PEM into OpenSSL.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <openssl/ssl.h>

namespace braid::detail {

/// Sets the certificate, its chain and the private key.
/// Errors: OpenSSL's; also if certificate and key do not belong together.
[[nodiscard]] auto use_identity(SSL_CTX* context, const tls_context::identity& identity) -> result<void>;

/// Trusts every certificate of `pem`. A server also sends their names to clients from which it requests a certificate.
/// Errors: OpenSSL's; also if `pem` contains no certificate.
[[nodiscard]] auto trust(SSL_CTX* context, const tls_context::pem& pem) -> result<void>;

}  // namespace braid::detail
