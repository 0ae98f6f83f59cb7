// src/io/tls_error.cpp: defines the messages of TLS errors, most of which come from OpenSSL.
#include <braid/io/tls.hpp>

#include "tls_backend.hpp"

#include <string>

namespace braid {
namespace {

class tls_errors final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "tls"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    if (value >= detail::errors_of_certificates) {
      const detail::tls_backend* const openssl = detail::find_tls_backend();
      return openssl != nullptr ? openssl->message(value) : "error " + std::to_string(value) + " of OpenSSL";
    }
    switch (static_cast<tls_errc>(value)) {
      case tls_errc::truncated: return "the connection ended without the peer's close notice";
      case tls_errc::no_application_protocol: return "the client and the server have no application protocol in common";
      case tls_errc::no_client_certificate:
        return "the server requires a client certificate, but the client has no certificate";
      default: return "unknown TLS error";
    }
  }
};

}  // namespace

auto detail::tls_category() noexcept -> const std::error_category& {
  static const tls_errors instance;
  return instance;
}

namespace {

/// Constructs the error category when the library is loaded. If a thread constructed it during a fork, the guard of
/// this static object would stay locked in the child.
[[maybe_unused]] const std::error_category& tls_errors_made_early = detail::tls_category();

}  // namespace

auto make_error_code(tls_errc code) noexcept -> std::error_code {
  return {static_cast<int>(code), detail::tls_category()};
}

}  // namespace braid
