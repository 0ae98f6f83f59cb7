// tests/support/raw_tls.hpp: a peer made of OpenSSL alone, over a socket that blocks, which may behave badly.
#pragma once

#include <tests/support/certificates.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace braid::testing {

/// Keys, trust and versions of raw peers. It verifies nothing and has no limit to weakness.
class raw_context {
 public:
  enum class side { client, server };

  explicit raw_context(side which, const certified* who = nullptr)
      : context_(::SSL_CTX_new(which == side::client ? ::TLS_client_method() : ::TLS_server_method())), side_(which) {
    ::SSL_CTX_set_security_level(get(), 0);
    if (who == nullptr) return;
    ::SSL_CTX_use_certificate(get(), detail::certificate_of(who->certificate).get());
    ::SSL_CTX_use_PrivateKey(get(), detail::key_of(who->key).get());
  }
  [[nodiscard]] auto get() const noexcept -> SSL_CTX* { return context_.get(); }
  [[nodiscard]] auto which() const noexcept -> side { return side_; }

 private:
  std::unique_ptr<SSL_CTX, detail::freeing<&::SSL_CTX_free>> context_;
  side side_;
};

class raw_tls {
 public:
  /// The descriptor stays the caller's. Its side must not raise SIGPIPE: the peer is read before it goes.
  raw_tls(const raw_context& as, int number) : ssl_(::SSL_new(as.get())) {
    ::SSL_set_fd(get(), number);
    if (as.which() == raw_context::side::client)
      ::SSL_set_connect_state(get());
    else
      ::SSL_set_accept_state(get());
  }
  [[nodiscard]] auto get() const noexcept -> SSL* { return ssl_.get(); }

  [[nodiscard]] auto shake_hands() const -> bool {
    ::ERR_clear_error();
    return ::SSL_do_handshake(get()) == 1;
  }
  [[nodiscard]] auto send(std::string_view text) const -> bool {
    ::ERR_clear_error();
    return ::SSL_write(get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
  }
  /// What comes next, or nothing at an end or an error.
  [[nodiscard]] auto receive(std::size_t max_count = 4096) const -> std::string {
    std::string text(max_count, '\0');
    ::ERR_clear_error();
    const int got = ::SSL_read(get(), text.data(), static_cast<int>(max_count));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  void end() const { ::SSL_shutdown(get()); }

  /// What the last call failed with, in OpenSSL's words.
  [[nodiscard]] static auto diagnostic() -> std::string {
    const char* const text = ::ERR_reason_error_string(::ERR_peek_error());
    return text != nullptr ? text : "";
  }

 private:
  std::unique_ptr<SSL, detail::freeing<&::SSL_free>> ssl_;
};

}  // namespace braid::testing
