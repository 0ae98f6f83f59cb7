// examples/29_one_loop.cpp: an HTTP server and its client on one loop, without
// a runtime. It needs no threads, and also compiles for macOS.
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <cstdio>
#include <string>

using namespace braid;

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));  // until it is stopped
}

auto program(loop& io, const http_router& routes) -> task<void> {
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "http://" + or_throw(listener.local_address()).to_string() + "/";
  http_server server(io, routes);
  http_client client(io);
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    http_client::call call{.method = http_method::get, .url = url};
    const auto answer = co_await client.fetch(std::move(call));
    if (answer)
      std::printf("%d %s\n", static_cast<int>(answer->status),
                  answer->body.c_str());
    co_await server.stop(10s);
  };
  co_await with_scope(all);
  io.stop();
}

int main() {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "hello"); });
  const auto io = or_throw(loop::create());
  io->spawn(program(*io, routes));
  io->run();
}
