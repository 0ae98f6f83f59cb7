// bench/echo/braid_server.hpp: an echo server of braid: a task for each connection.
#pragma once

#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace bench {

// clang-format off: a page shows these lines
// [server]
inline auto echo_to(braid::stream_socket client) -> braid::task<void> {
  std::array<std::byte, 4096> room;
  for (;;) {
    const auto got = co_await client.read_some(room);
    if (!got || *got == 0) co_return;
    if (!co_await client.write_all(std::span(room).first(*got))) co_return;
  }
}

inline auto serve_echo(braid::stream_listener listener) -> braid::task<void> {
  auto accept_all = [&](braid::scope& clients) -> braid::task<void> {
    while (auto accepted = co_await listener.accept())
      clients.spawn(echo_to(std::move(*accepted)));
  };
  co_await braid::with_scope(accept_all);
}
// [/server]
// clang-format on

}  // namespace bench
