// examples/27_http2.cpp: one port that speaks HTTP/1.1 and HTTP/2, and curl,
// which asks it by both.
#include <braid/coro/with_scope.hpp>
#include <braid/io/process.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <string>

using namespace braid;

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));
}

/// Runs curl, which prints the answer and the version of HTTP.
auto ask(loop& io, std::string version, std::string url) -> task<void> {
  const child_process::options curl{
      .program = "curl",
      .arguments = {"--silent", version, "--write-out",
                    " by HTTP/%{http_version}\n", url},
  };
  child_process asking = or_throw(child_process::start(io, curl));
  static_cast<void>(co_await asking.wait());
}

// [serve]
auto program(loop& io) -> task<void> {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "hello"); });
  http_server server(io, routes, {.http2 = {.streams = 50}});
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "http://" + or_throw(listener.local_address()).to_string() + "/";
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    co_await ask(io, "--http1.1", url);
    co_await ask(io, "--http2-prior-knowledge", url);
    co_await server.stop(10s);
  };
  co_await with_scope(all);
}
// [/serve]

int main() {
  const auto both = or_throw(runtime::create({.workers = 1}));
  both->run(program(both->io()));
}
