// tests/io/tls_error_test.cpp: what the errors of TLS say.
#include <braid/io/tls.hpp>

#include <braid/base/error.hpp>

#include <doctest/doctest.h>

#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>

using namespace braid;

TEST_CASE("each named error has a sentence of its own") {
  const std::error_code truncated = tls_errc::truncated;
  CHECK(truncated.category() == braid::detail::tls_category());
  CHECK(truncated.category().name() == std::string("tls"));
  CHECK(truncated.message() == "the connection ended without the peer's close notice");
  CHECK(make_error_code(tls_errc::no_application_protocol).message() ==
        "the client and the server have no application protocol in common");
  CHECK(make_error_code(tls_errc::no_client_certificate).message() ==
        "the server requires a client certificate, but the client has no certificate");
  CHECK(truncated != make_error_code(errc::stopped));
}

TEST_CASE("a verdict on a certificate says what OpenSSL says") {
  CHECK(make_error_code(tls_errc::certificate_expired).message() == "certificate has expired");
  CHECK(make_error_code(tls_errc::certificate_not_yet_valid).message() == "certificate is not yet valid");
  CHECK(make_error_code(tls_errc::self_signed).message() == "self-signed certificate");
  CHECK(make_error_code(tls_errc::unknown_issuer).message() == "unable to get local issuer certificate");
  CHECK(make_error_code(tls_errc::wrong_host).message() == "hostname mismatch");
  CHECK(make_error_code(tls_errc::wrong_address).message() == "IP address mismatch");
  CHECK(make_error_code(tls_errc::key_too_small).message() == "EE certificate key too weak");
}

TEST_CASE("other errors of OpenSSL keep their number and their words") {
  const std::error_code other(static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_WRONG_VERSION_NUMBER)),
                              braid::detail::tls_category());
  CHECK(other.message() == "wrong version number");
  CHECK(std::error_code(3000, braid::detail::tls_category()).message() == "unknown TLS error");
  const std::error_code unknown(static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, 4000)), braid::detail::tls_category());
  CHECK_FALSE(unknown.message().empty());
}
