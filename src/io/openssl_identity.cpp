// src/io/openssl_identity.cpp: parses certificates and keys in PEM format. The whole text is parsed before any part of
// it is used.
#include "openssl_identity.hpp"

#include "openssl_error.hpp"
#include "openssl_owners.hpp"

#include <string>
#include <utility>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

namespace braid::detail {
namespace {

/// A text whose destructor overwrites it, because the text may contain a private key.
struct secret_text {
  std::string value;

  secret_text(const secret_text&) = delete;
  auto operator=(const secret_text&) -> secret_text& = delete;
  explicit secret_text(std::string text) noexcept : value(std::move(text)) {}
  ~secret_text() { ::OPENSSL_cleanse(value.data(), value.size()); }
};

auto make_reader(const std::string& text) -> bio_ptr {
  return bio_ptr(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Answers OpenSSL's request for a password: there is no password. Without this function, OpenSSL would prompt for the
/// password on the terminal.
auto no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*user*/) noexcept -> int { return -1; }

auto certificates_in(const tls_context::pem& pem) -> result<std::vector<certificate_ptr>> {
  const auto text = pem.load();
  if (!text) return fail(text.error());
  ::ERR_clear_error();
  const bio_ptr from = make_reader(*text);
  if (from == nullptr) return fail(tls_failure());
  std::vector<certificate_ptr> all;
  while (certificate_ptr next{::PEM_read_bio_X509_AUX(from.get(), nullptr, &no_password, nullptr)})
    all.push_back(std::move(next));
  const unsigned long last = ::ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!at_end || all.empty()) return fail(tls_failure());
  ::ERR_clear_error();
  return all;
}

auto key_in(const tls_context::pem& pem) -> result<key_ptr> {
  auto loaded = pem.load();
  if (!loaded) return fail(loaded.error());
  const secret_text text(std::move(*loaded));
  ::ERR_clear_error();
  const bio_ptr from = make_reader(text.value);
  key_ptr key(from == nullptr ? nullptr : ::PEM_read_bio_PrivateKey(from.get(), nullptr, &no_password, nullptr));
  if (key == nullptr) return fail(tls_failure());
  return key;
}

}  // namespace

auto use_identity(SSL_CTX* context, const tls_context::identity& identity) -> result<void> {
  const auto chain = certificates_in(identity.chain);
  if (!chain) return fail(chain.error());
  const auto key = key_in(identity.key);
  if (!key) return fail(key.error());
  if (::SSL_CTX_use_certificate(context, chain->front().get()) != 1) return fail(tls_failure());
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (::SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1) return fail(tls_failure());
  const bool fits = ::SSL_CTX_use_PrivateKey(context, key->get()) == 1 && ::SSL_CTX_check_private_key(context) == 1;
  if (!fits) return fail(tls_failure());
  return {};
}

auto trust(SSL_CTX* context, const tls_context::pem& pem) -> result<void> {
  const auto authorities = certificates_in(pem);
  if (!authorities) return fail(authorities.error());
  X509_STORE* const store = ::SSL_CTX_get_cert_store(context);
  for (const certificate_ptr& one : *authorities)
    if (::X509_STORE_add_cert(store, one.get()) != 1 || ::SSL_CTX_add_client_CA(context, one.get()) != 1)
      return fail(tls_failure());
  return {};
}

}  // namespace braid::detail
