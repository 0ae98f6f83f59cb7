// tests/support/tls_redis_server.hpp: a real redis-server that takes connections by TLS.
#pragma once

#include <tests/support/redis_server.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/tls_scene.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace braid::testing {

/// Takes connections by TLS at one port, with a certificate of `tls_people`, and plain ones at another.
class tls_redis_server {
 public:
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_.number(); }
  [[nodiscard]] auto server() -> redis_server& { return server_; }

 private:
  [[nodiscard]] auto options() const -> std::vector<std::string> {
    const auto& people = tls_people::known();
    return {"--tls-port",         std::to_string(port()),
            "--tls-cert-file",    file("server.crt", people.server.certificate),
            "--tls-key-file",     file("server.key", people.server.key),
            "--tls-ca-cert-file", file("authority.crt", people.authority.certificate),
            "--tls-auth-clients", "no"};
  }

  auto file(std::string_view name, const std::string& text) const -> std::string {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }

  scratch_folder folder_;
  held_port port_;
  redis_server server_{options()};
};

}  // namespace braid::testing
