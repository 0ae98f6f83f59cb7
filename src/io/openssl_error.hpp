// src/io/openssl_error.hpp: declares functions that convert OpenSSL's errors to error codes and messages.
#pragma once

#include <string>
#include <system_error>

namespace braid::detail {

/// Returns and clears the error of OpenSSL's last call on this thread.
[[nodiscard]] auto tls_failure() noexcept -> std::error_code;

/// Converts a failed verification of a certificate (X509_V_ERR_…) to an error code. The verdict must not be X509_V_OK.
[[nodiscard]] auto certificate_failure(long verdict) noexcept -> std::error_code;

/// Returns OpenSSL's message for the value of an error code of this file.
[[nodiscard]] auto openssl_message(int value) -> std::string;

}  // namespace braid::detail
