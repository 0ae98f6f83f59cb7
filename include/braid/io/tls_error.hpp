// braid/io/tls_error.hpp: the errors of TLS: those that programs distinguish, and all others by number.
#pragma once

#include <braid/base/config.hpp>

#include <system_error>
#include <type_traits>

namespace braid {

/// The errors that a program may want to distinguish. The category has many more values than these: 4096 and a number
/// is what OpenSSL says of a certificate (X509_V_ERR_…), and a greater value is an error of OpenSSL as its error queue
/// has it.
enum class tls_errc {
  truncated = 1,            ///< the connection ended without the peer's notice that it ends
  no_application_protocol,  ///< both sides name protocols (ALPN), and none in common
  no_client_certificate,    ///< the server wants a certificate, and the client has none

  certificate_not_yet_valid = 4096 + 9,
  certificate_expired = 4096 + 10,
  self_signed = 4096 + 18,           ///< the certificate vouches for itself, and is not configured as trusted
  self_signed_in_chain = 4096 + 19,  ///< the chain ends at an authority that is not configured as trusted
  unknown_issuer = 4096 + 20,        ///< the certificate is signed by an unknown authority
  wrong_purpose = 4096 + 26,         ///< the certificate is for something else, such as a client's for a server
  wrong_host = 4096 + 62,            ///< the certificate is for other names
  wrong_address = 4096 + 64,         ///< the certificate is for other IP addresses
  key_too_small = 4096 + 66,
  authority_key_too_small = 4096 + 67,
  digest_too_weak = 4096 + 68,  ///< something in the chain is signed with SHA-1 or MD5
};

/// The category of `tls_errc` and of all that OpenSSL reports; its messages are OpenSSL's where it has one. Threads:
/// any.
BRAID_API auto tls_category() noexcept -> const std::error_category&;

/// Lets a `tls_errc` stand wherever a std::error_code is wanted.
BRAID_API auto make_error_code(tls_errc code) noexcept -> std::error_code;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::tls_errc> : std::true_type {};
