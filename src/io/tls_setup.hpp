// src/io/tls_setup.hpp: declares the interface of a TLS context's implementation.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace braid::detail {

class tls_engine;

enum class tls_side : std::uint8_t { client, server };

/// The settings of a TLS context. The settings do not change after construction; only the cached sessions change.
class BRAID_API tls_setup {
 public:
  tls_setup(const tls_setup&) = delete;
  auto operator=(const tls_setup&) -> tls_setup& = delete;
  virtual ~tls_setup();

  /// Creates the engine of a connection, which keeps this object alive. A client's engine verifies that the server is
  /// `host`.
  /// Errors: errc::invalid_argument if `host` is not a valid host.
  [[nodiscard]] virtual auto open(std::string host) const -> result<std::unique_ptr<tls_engine>> = 0;

  [[nodiscard]] auto side() const noexcept -> tls_side { return side_; }
  [[nodiscard]] auto handshakes() const noexcept -> executor* { return handshakes_; }
  [[nodiscard]] auto handshake_timeout() const noexcept -> duration { return handshake_timeout_; }
  /// Returns the names of the protocols for ALPN. One byte with the length precedes each name.
  [[nodiscard]] auto protocols() const noexcept -> std::string_view { return protocols_; }

 protected:
  tls_setup(tls_side side, executor* handshakes, duration handshake_timeout, std::string protocols) noexcept
      : side_(side), handshakes_(handshakes), handshake_timeout_(handshake_timeout), protocols_(std::move(protocols)) {}

 private:
  const tls_side side_;
  executor* const handshakes_;
  const duration handshake_timeout_;
  const std::string protocols_;
};

}  // namespace braid::detail
