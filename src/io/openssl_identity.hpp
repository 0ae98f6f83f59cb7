// src/io/openssl_identity.hpp: certificates and keys, from PEM into OpenSSL.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <openssl/ssl.h>

namespace braid::detail {

/// Certificate, chain and key. Errors: what OpenSSL says, also where they do not belong together.
[[nodiscard]] auto use_identity(SSL_CTX* context, const tls_context::identity& identity) -> result<void>;

/// Trusts every certificate of `pem`, and names them to clients that are asked for theirs. Errors: as above, also
/// where there is none.
[[nodiscard]] auto trust(SSL_CTX* context, const tls_context::pem& pem) -> result<void>;

}  // namespace braid::detail
