// tests/support/certificates.hpp: certificates and keys that a test makes for itself.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace braid::testing {

/// A certificate and its key, as PEM.
struct certified {
  std::string certificate;
  std::string key;
};

struct certificate_wish {
  std::string name = "test";
  std::string hosts = "DNS:localhost,IP:127.0.0.1";  // empty: it is for no host
  long from = -3600;                                 // seconds from now
  long until = 3600;
  int rsa_bits = 0;  // 0: a key on the curve P-256
  bool authority = false;
  std::string purpose = "serverAuth,clientAuth";
};

namespace detail {

template <auto Free>
struct freeing {
  template <typename T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using owned_key = std::unique_ptr<EVP_PKEY, freeing<&::EVP_PKEY_free>>;
using owned_certificate = std::unique_ptr<X509, freeing<&::X509_free>>;
using owned_bio = std::unique_ptr<BIO, freeing<&::BIO_free>>;

inline void must(bool done) {
  if (!done) throw std::runtime_error("OpenSSL cannot make what the test needs");
}

inline auto text_in(BIO* memory) -> std::string {
  char* at = nullptr;
  const long size = BIO_get_mem_data(memory, &at);
  return {at, static_cast<std::size_t>(size)};
}

inline auto memory_of(const std::string& text) -> owned_bio {
  return owned_bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline auto certificate_of(const std::string& pem) -> owned_certificate {
  return owned_certificate(::PEM_read_bio_X509(memory_of(pem).get(), nullptr, nullptr, nullptr));
}

inline auto key_of(const std::string& pem) -> owned_key {
  return owned_key(::PEM_read_bio_PrivateKey(memory_of(pem).get(), nullptr, nullptr, nullptr));
}

inline void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  must(extension != nullptr && ::X509_add_ext(certificate, extension, -1) == 1);
  ::X509_EXTENSION_free(extension);
}

}  // namespace detail

/// The key locked by a password, as PEM.
inline auto locked_key(const std::string& pem) -> std::string {
  const auto key = detail::key_of(pem);
  const detail::owned_bio into(::BIO_new(::BIO_s_mem()));
  static constexpr unsigned char password[] = {'x', 'y', 'z', 'z', 'y'};
  detail::must(::PEM_write_bio_PrivateKey(into.get(), key.get(), ::EVP_aes_128_cbc(), password, sizeof(password),
                                          nullptr, nullptr) == 1);
  return detail::text_in(into.get());
}

/// Signed by `issuer`, or by itself.
inline auto make_certificate(const certificate_wish& wish, const certified* issuer = nullptr) -> certified {
  using namespace detail;
  const owned_key key(wish.rsa_bits != 0 ? ::EVP_RSA_gen(static_cast<unsigned>(wish.rsa_bits)) : ::EVP_EC_gen("P-256"));
  const owned_certificate made(::X509_new());
  must(key != nullptr && made != nullptr);
  X509* const x = made.get();
  static long serial = 1;
  ::X509_set_version(x, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(x), ++serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(x), wish.from);
  ::X509_gmtime_adj(::X509_getm_notAfter(x), wish.until);
  ::X509_set_pubkey(x, key.get());
  ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1, 0);
  const owned_certificate above = issuer != nullptr ? certificate_of(issuer->certificate) : nullptr;
  const owned_key signer = issuer != nullptr ? key_of(issuer->key) : nullptr;
  X509* const by = above != nullptr ? above.get() : x;
  ::X509_set_issuer_name(x, ::X509_get_subject_name(by));
  extend(x, by, NID_basic_constraints, wish.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(x, by, NID_subject_key_identifier, "hash");
  if (wish.authority) extend(x, by, NID_key_usage, "critical,keyCertSign,cRLSign");
  if (!wish.authority) extend(x, by, NID_ext_key_usage, wish.purpose);
  if (!wish.authority && !wish.hosts.empty()) extend(x, by, NID_subject_alt_name, wish.hosts);
  must(::X509_sign(x, signer != nullptr ? signer.get() : key.get(), ::EVP_sha256()) != 0);

  const owned_bio certificate(::BIO_new(::BIO_s_mem()));
  const owned_bio secret(::BIO_new(::BIO_s_mem()));
  must(::PEM_write_bio_X509(certificate.get(), x) == 1);
  must(::PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_in(certificate.get()), text_in(secret.get())};
}

}  // namespace braid::testing
