// tests/support/tls_scene.hpp: contexts that know each other, and pairs of ends that have shaken hands.
#pragma once

#include <braid/coro/when_all.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <tests/support/certificates.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace braid::testing {

/// An authority, and a server that it has signed. Made once for a program: keys take time.
struct tls_people {
  certified authority = make_certificate({.name = "authority", .authority = true});
  certified server = make_certificate({.name = "server"}, &authority);

  static auto known() -> const tls_people& {
    static const tls_people all;
    return all;
  }
};

inline auto read_identity(const certified& who) -> tls_context::identity {
  return {.chain = tls_context::pem::text(who.certificate), .key = tls_context::pem::text(who.key)};
}

inline auto trusting_client() -> tls_context::client_options {
  return {.authorities = tls_context::pem::text(tls_people::known().authority.certificate)};
}

inline auto known_server() -> tls_context::server_options {
  return {.identity = read_identity(tls_people::known().server)};
}

inline auto client_context(const tls_context::client_options& options = trusting_client()) -> tls_context {
  return tls_context::client(options).value();
}

inline auto server_context(const tls_context::server_options& options = known_server()) -> tls_context {
  return tls_context::server(options).value();
}

/// Both ends of a connection, or why there is none.
struct tls_ends {
  result<tls_stream> client;
  result<tls_stream> server;
};

/// Shakes hands over a pair of sockets of one loop.
inline auto shake_hands(loop& io, tls_context client, tls_context server, std::string host = "localhost")
    -> task<tls_ends> {
  auto sockets = stream_socket::pair(io).value();
  auto both = when_all(tls_stream::connect(std::move(client), std::move(sockets.first), std::move(host)),
                       tls_stream::accept(std::move(server), std::move(sockets.second)));
  auto ends = co_await std::move(both);
  co_return tls_ends{.client = std::move(std::get<0>(ends)), .server = std::move(std::get<1>(ends))};
}

}  // namespace braid::testing
