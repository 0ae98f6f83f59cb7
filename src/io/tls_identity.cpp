// src/io/tls_identity.cpp: reading PEM, whole, before anything of it is used.
#include "tls_identity.hpp"

#include "openssl_owners.hpp"
#include "tls_failure.hpp"

#include <braid/io/descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <fcntl.h>
#include <unistd.h>

namespace braid {
namespace {

using namespace detail;

constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024;

auto read_whole(const std::string& path) -> result<std::string> {
  const descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail(last_system_error());
  std::string all;
  std::array<char, 4096> block;
  for (;;) {
    const ::ssize_t got = ::read(opened.number(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(last_system_error());
    if (got == 0) return all;
    all.append(block.data(), static_cast<std::size_t>(got));
    if (all.size() > most_bytes) return fail(std::make_error_code(std::errc::file_too_large));
  }
}

/// A text that is wiped: it may be a key.
struct secret_text {
  std::string value;

  secret_text(const secret_text&) = delete;
  auto operator=(const secret_text&) -> secret_text& = delete;
  explicit secret_text(std::string text) noexcept : value(std::move(text)) {}
  ~secret_text() { ::OPENSSL_cleanse(value.data(), value.size()); }
};

auto reader_of(const std::string& text) -> bio_ptr {
  return bio_ptr(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Nobody is asked for a password: OpenSSL by itself would ask at the terminal.
auto no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*user*/) noexcept -> int { return -1; }

auto certificates_in(const tls_pem& pem) -> result<std::vector<certificate_ptr>> {
  const auto text = pem.load();
  if (!text) return fail(text.error());
  ::ERR_clear_error();
  const bio_ptr from = reader_of(*text);
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

auto key_in(const tls_pem& pem) -> result<key_ptr> {
  auto loaded = pem.load();
  if (!loaded) return fail(loaded.error());
  const secret_text text(std::move(*loaded));
  ::ERR_clear_error();
  const bio_ptr from = reader_of(text.value);
  key_ptr key(from == nullptr ? nullptr : ::PEM_read_bio_PrivateKey(from.get(), nullptr, &no_password, nullptr));
  if (key == nullptr) return fail(tls_failure());
  return key;
}

}  // namespace

auto tls_pem::load() const -> result<std::string> {
  if (kind_ == kind::none) return fail(errc::invalid_argument);
  if (kind_ == kind::file) return read_whole(value_);
  if (value_.size() > most_bytes) return fail(std::make_error_code(std::errc::file_too_large));
  return value_;
}

auto detail::use_identity(SSL_CTX* context, const tls_identity& identity) -> result<void> {
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

auto detail::trust(SSL_CTX* context, const tls_pem& pem) -> result<void> {
  const auto authorities = certificates_in(pem);
  if (!authorities) return fail(authorities.error());
  X509_STORE* const store = ::SSL_CTX_get_cert_store(context);
  for (const certificate_ptr& one : *authorities)
    if (::X509_STORE_add_cert(store, one.get()) != 1 || ::SSL_CTX_add_client_CA(context, one.get()) != 1)
      return fail(tls_failure());
  return {};
}

}  // namespace braid
