// src/io/openssl_identity.hpp: loads certificates and keys from PEM into OpenSSL.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <openssl/ssl.h>

namespace braid::detail {

/// Sets the certificate, its chain and the private key.
/// Errors: OpenSSL's errors, also if the certificate and the key do not belong together.
[[nodiscard]] auto use_identity(SSL_CTX* context, const tls_context::identity& identity) -> result<void>;

/// Trusts every certificate of `pem`. A server that requests certificates from its clients also sends them the names of
/// these certificates.
/// Errors: OpenSSL's errors, also if `pem` contains no certificate.
[[nodiscard]] auto trust(SSL_CTX* context, const tls_context::pem& pem) -> result<void>;

}  // namespace braid::detail
