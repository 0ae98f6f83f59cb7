// src/io/tls_setup.hpp: what a tls_context stands for.
#pragma once

#include "openssl_owners.hpp"
#include "tls_sessions.hpp"

#include <braid/base/clock.hpp>
#include <braid/io/tls_context.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace braid::detail {

enum class tls_side : std::uint8_t { client, server };

/// Does not change once it is made, but for the sessions. The SSL_CTX has locks of its own.
class tls_setup {
 public:
  static auto of_client(const tls_client_options& options) -> result<std::shared_ptr<const tls_setup>>;
  static auto of_server(const tls_server_options& options) -> result<std::shared_ptr<const tls_setup>>;

  [[nodiscard]] auto side() const noexcept -> tls_side { return side_; }
  [[nodiscard]] auto verifies() const noexcept -> bool { return verifies_; }
  [[nodiscard]] auto handshakes() const noexcept -> executor* { return handshakes_; }
  [[nodiscard]] auto handshake_timeout() const noexcept -> duration { return handshake_timeout_; }
  /// OpenSSL counts references in it, and so wants it to be mutable.
  [[nodiscard]] auto context() const noexcept -> SSL_CTX* { return context_.get(); }
  [[nodiscard]] auto sessions() const noexcept -> tls_sessions& { return sessions_; }

 private:
  tls_setup(tls_side side, context_ptr context, std::size_t most_sessions) noexcept
      : side_(side), context_(std::move(context)), sessions_(most_sessions) {}

  template <typename Options>
  static auto begin(tls_side side, const Options& options, std::size_t most_sessions)
      -> result<std::shared_ptr<tls_setup>>;
  [[nodiscard]] auto set_up_client(const tls_client_options& options) -> result<void>;
  [[nodiscard]] auto set_up_server(const tls_server_options& options) -> result<void>;

  static auto choose_protocol(SSL* connection, const unsigned char** chosen, unsigned char* size,
                              const unsigned char* offered, unsigned offered_size, void* self) noexcept -> int;

  static auto keep_session(SSL* connection, SSL_SESSION* session) noexcept -> int;

  tls_side side_;
  bool verifies_ = true;
  executor* handshakes_ = nullptr;
  duration handshake_timeout_{};
  std::string protocols_;  // as they go over the wire
  context_ptr context_;
  mutable tls_sessions sessions_;
};

}  // namespace braid::detail
