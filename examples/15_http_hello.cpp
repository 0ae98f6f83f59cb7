// examples/15_http_hello.cpp: a server with a few routes, a client that asks
// it, and a stop that loses nothing.
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <string>

using namespace braid;

// [routes]
// A coroutine, because the body may have to be waited for.
auto size(http_exchange& x) -> task<void> {
  const auto body = co_await x.read_all();
  // Too large, too slow or cut off: answered by the server.
  if (!body) co_return;
  x.reply(http_status::ok, std::to_string(body->size()));
}

auto make_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "hello"); });
  routes.get("/users/{id}", [](http_exchange& x) {
    x.reply(http_status::ok, "user " + std::string(x.value("id")));
  });
  routes.post("/size", &size);
  return routes;
}
// [/routes]

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));  // until it is stopped
}

auto ask(http_client& client, http_method method, std::string url,
         std::string body = {}) -> task<void> {
  http_client::call call{
      .method = method, .url = std::move(url), .body = std::move(body)};
  const auto answer = co_await client.fetch(std::move(call));
  if (answer)
    std::printf("%d %s\n", static_cast<int>(answer->status),
                answer->body.c_str());
}

auto program(loop& io, const http_router& routes) -> task<void> {
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "http://" + or_throw(listener.local_address()).to_string();
  // [serve]
  http_server server(io, routes, {.head_timeout = 5s});
  http_client client(io);
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    co_await ask(client, http_method::get, url + "/");
    co_await ask(client, http_method::get, url + "/users/7");
    co_await ask(client, http_method::post, url + "/size", "12345");
    co_await ask(client, http_method::put, url + "/");
    co_await server.stop(10s);  // answers what has begun, closes the rest
  };
  co_await with_scope(all);
  // [/serve]
}

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io(), make_routes()));
}
