// src/io/openssl_owners.hpp: declares smart pointers for OpenSSL's objects.
#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace braid::detail {

template <auto Free>
struct freed_by {
  template <typename T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using bio_ptr = std::unique_ptr<BIO, freed_by<&::BIO_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&::EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<&::X509_free>>;
using context_ptr = std::unique_ptr<SSL_CTX, freed_by<&::SSL_CTX_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, freed_by<&::SSL_SESSION_free>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<&::SSL_free>>;

}  // namespace braid::detail
