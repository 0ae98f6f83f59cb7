// src/io/openssl_error.hpp: OpenSSL's errors as error codes, and their sentences.
#pragma once

#include <string>
#include <system_error>

namespace braid::detail {

/// Returns and clears the error of OpenSSL's last call on this thread.
[[nodiscard]] auto tls_failure() noexcept -> std::error_code;

/// Returns the verdict on a certificate (X509_V_ERR_…), which is not X509_V_OK.
[[nodiscard]] auto certificate_failure(long verdict) noexcept -> std::error_code;

/// Returns OpenSSL's message for the value of such a code.
[[nodiscard]] auto openssl_message(int value) -> std::string;

}  // namespace braid::detail
