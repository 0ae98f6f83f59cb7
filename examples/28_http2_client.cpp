// examples/28_http2_client.cpp: calls of a client that share one connection of
// HTTP/2.
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <string>
#include <utility>

using namespace braid;

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));
}

// [calls]
auto call(loop& io, std::string url) -> task<void> {
  http_client client(io, {.http2 = {.use = http_client::http2_use::known}});
  auto calls = when_all(client.get(url), client.get(url), client.get(url));
  const auto [first, second, third] = co_await std::move(calls);
  std::printf("%s %s %s\n", first.value().body.c_str(),
              second.value().body.c_str(), third.value().body.c_str());
  std::printf("connections: %zu\n", client.idle_connections());
}
// [/calls]

auto program(loop& io) -> task<void> {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "hello"); });
  http_server server(io, routes);
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "http://" + or_throw(listener.local_address()).to_string() + "/";
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    co_await call(io, url);
    co_await server.stop(10s);
  };
  co_await with_scope(all);
}

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io()));
}
