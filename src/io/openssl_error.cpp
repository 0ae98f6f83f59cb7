// src/io/openssl_error.cpp: converts OpenSSL's errors to error codes, and defines the function table of the TLS
// library.
#include "openssl_error.hpp"

#include "openssl_setup.hpp"
#include "tls_backend.hpp"

#include <braid/io/tls.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace braid::detail {
namespace {

constexpr int of_openssl = 1 << 16;  // a packed error has its library above bit 23

constexpr auto matches(tls_errc code, int verdict) -> bool {
  return static_cast<int>(code) == errors_of_certificates + verdict;
}
static_assert(matches(tls_errc::certificate_not_yet_valid, X509_V_ERR_CERT_NOT_YET_VALID));
static_assert(matches(tls_errc::certificate_expired, X509_V_ERR_CERT_HAS_EXPIRED));
static_assert(matches(tls_errc::self_signed, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT));
static_assert(matches(tls_errc::self_signed_in_chain, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN));
static_assert(matches(tls_errc::unknown_issuer, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY));
static_assert(matches(tls_errc::wrong_purpose, X509_V_ERR_INVALID_PURPOSE));
static_assert(matches(tls_errc::wrong_host, X509_V_ERR_HOSTNAME_MISMATCH));
static_assert(matches(tls_errc::wrong_address, X509_V_ERR_IP_ADDRESS_MISMATCH));
static_assert(matches(tls_errc::key_too_small, X509_V_ERR_EE_KEY_TOO_SMALL));
static_assert(matches(tls_errc::authority_key_too_small, X509_V_ERR_CA_KEY_TOO_SMALL));
static_assert(matches(tls_errc::digest_too_weak, X509_V_ERR_CA_MD_TOO_WEAK));

auto packed(unsigned long error) noexcept -> std::error_code { return {static_cast<int>(error), tls_category()}; }

}  // namespace

auto tls_failure() noexcept -> std::error_code {
  const unsigned long error = ::ERR_peek_error();  // the first is the cause of those that follow
  ::ERR_clear_error();
  if (error == 0) return std::make_error_code(std::errc::protocol_error);
  if (ERR_SYSTEM_ERROR(error)) return {ERR_GET_REASON(error), std::system_category()};
  if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return std::make_error_code(std::errc::not_enough_memory);
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return packed(error);
  switch (ERR_GET_REASON(error)) {
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return tls_errc::no_application_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return tls_errc::no_client_certificate;
    default: return packed(error);
  }
}

auto certificate_failure(long verdict) noexcept -> std::error_code {
  return {errors_of_certificates + static_cast<int>(verdict), tls_category()};
}

auto openssl_message(int value) -> std::string {
  if (value < of_openssl) return ::X509_verify_cert_error_string(value - errors_of_certificates);
  ::OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
  const char* const reason = ::ERR_reason_error_string(static_cast<unsigned long>(value));
  return reason != nullptr ? reason : "error " + std::to_string(value) + " of OpenSSL";
}

}  // namespace braid::detail

constinit const braid::detail::tls_backend braid_tls_backend{
    .client = &braid::detail::openssl_setup::of_client,
    .server = &braid::detail::openssl_setup::of_server,
    .message = &braid::detail::openssl_message,
};
