// examples/13_echo_server.cpp: a server that sends back what it gets, its
// clients, and a stop that ends both.
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using namespace braid;

// [server]
auto echo(stream_socket client) -> task<void> {
  std::array<std::byte, 4096> room;
  for (;;) {
    const auto got = co_await client.read_some(room);
    if (!got || *got == 0) co_return;  // an error, or the end
    if (!co_await client.write_all(std::span(room).first(*got))) co_return;
  }
}

auto serve(stream_listener listener) -> task<void> {
  auto accept_all = [&](scope& clients) -> task<void> {
    while (auto accepted = co_await listener.accept())
      clients.spawn(echo(std::move(*accepted)));
  };
  co_await with_scope(accept_all);
}
// [/server]

// [client]
auto ask(loop& io, socket_address where, std::string_view line) -> task<void> {
  const auto server = co_await stream_socket::connect(io, where);
  if (!server) co_return;
  or_throw(co_await server->write_all(line));
  buffered_reader reader(*server);
  const auto answer = co_await reader.read_until("\n");
  if (answer) std::printf("%s", std::string(text_of(*answer)).c_str());
}
// [/client]

auto program(loop& io) -> task<void> {
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const auto where = or_throw(listener.local_address());
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(std::move(listener)));
    for (const std::string_view line : {"hello\n", "is anybody there?\n"})
      co_await ask(io, where, line);
    children.request_stop();  // ends the server, and the clients that it has
  };
  co_await with_scope(all);
}

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io()));
}
