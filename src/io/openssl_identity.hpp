// src/io/openssl_identity.hpp: certificates and keys, from PEM into OpenSSL.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <openssl/ssl.h>

namespace braid::detail {

/// Sets the certificate, chain and key.
/// Errors: OpenSSL's, also if they do not belong together.
[[nodiscard]] auto use_identity(SSL_CTX* context, const tls_context::identity& identity) -> result<void>;

/// Trusts every certificate of `pem`, and lists them for clients that are asked for a certificate.
/// Errors: as above, also if `pem` contains no certificate.
[[nodiscard]] auto trust(SSL_CTX* context, const tls_context::pem& pem) -> result<void>;

}  // namespace braid::detail
