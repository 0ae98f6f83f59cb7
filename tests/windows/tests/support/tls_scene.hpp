// tests/windows/tests/support/tls_scene.hpp: options of TLS for tests that also run without it. TLS is not ported.
#pragma once

#include <braid/io/tls.hpp>

namespace braid::testing {

inline auto trusting_client() -> tls_context::client_options { return {}; }
inline auto known_server() -> tls_context::server_options { return {}; }

inline auto client_context(const tls_context::client_options& options = trusting_client()) -> tls_context {
  return tls_context::client(options).value();
}

inline auto server_context(const tls_context::server_options& options = known_server()) -> tls_context {
  return tls_context::server(options).value();
}

}  // namespace braid::testing
