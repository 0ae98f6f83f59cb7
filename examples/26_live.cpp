// examples/26_live.cpp: a server that sends events to browsers, and talks to
// them by WebSocket.
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_events.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/websocket.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <utility>

using namespace braid;

namespace {

// [events]
/// Counts, for an `EventSource("/count")` in a browser.
auto count(http_exchange& x) -> task<void> {
  auto produce = [](http_events& out) -> task<void> {
    for (int i = 1; i <= 3; ++i) {
      const std::string number = std::to_string(i);
      // Waits until the client has room, and ends the stream if it has gone.
      if (!co_await out.send({.data = number, .id = number})) co_return;
      co_await sleep_for(1ms);
    }
  };
  auto stream = x.events({.keep_alive = 15s}, produce);
  static_cast<void>(co_await std::move(stream));
}
// [/events]

// [websocket]
/// Sends back what it receives, for a `new WebSocket("wss://…/echo")`.
auto echo(http_exchange& x) -> task<void> {
  auto serve = [](websocket& socket) -> task<void> {
    for (;;) {
      const auto message = co_await socket.receive();
      if (!message || !*message) co_return;  // lost, or closed by the client
      const std::string text((*message)->data);
      if (!co_await socket.send_text(text)) co_return;
    }
  };
  auto opened = x.websocket({.max_message = 64 * 1024}, serve);
  static_cast<void>(co_await std::move(opened));
}
// [/websocket]

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));
}

/// A client that says one word by hand: browsers do this for you.
auto say_hello(loop& io, socket_address to) -> task<void> {
  auto connecting = stream_socket::connect(io, to);
  stream_socket socket = or_throw(co_await std::move(connecting));
  const std::string said =
      "GET /echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
      std::string("\x81\x85\0\0\0\0hello", 11) +  // a text
      std::string("\x88\x80\0\0\0\0", 6);         // the end
  or_throw(co_await socket.write_all(bytes_of(said)));
  std::string heard;
  for (std::array<std::byte, 1024> room{};;) {
    const result<std::size_t> got = co_await socket.read_some(room);
    if (!got || *got == 0) break;
    heard.append(reinterpret_cast<const char*>(room.data()), *got);
  }
  std::printf("%s\n", heard.substr(0, heard.find("\r\n")).c_str());
  std::printf("echoed: %s\n",
              heard.find("hello") != std::string::npos ? "yes" : "no");
}

auto program(loop& io) -> task<void> {
  http_router routes;
  routes.get("/count", &count);
  routes.get("/echo", &echo);
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const socket_address at = or_throw(listener.local_address());
  http_server server(io, routes);
  http_client client(io);
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    http_client::call call{.url = "http://" + at.to_string() + "/count"};
    const auto answer = co_await client.fetch(std::move(call));
    if (answer) std::printf("%s", answer->body.c_str());
    co_await say_hello(io, at);
    co_await server.stop(10s);
  };
  co_await with_scope(all);
}

}  // namespace

auto main() -> int {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io()));
}
