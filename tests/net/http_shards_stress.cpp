// tests/net/http_shards_stress.cpp: one address, a server on each of two loops, and one router for both.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>

using namespace braid;

namespace {

/// A server and its listener, made, used and ended on one loop.
struct shard {
  std::unique_ptr<http_server> server;
  http_server::totals counts;

  auto serve(stream_listener listener) -> task<void> { static_cast<void>(co_await server->serve(std::move(listener))); }
  auto start(loop& on, const http_router& routes, socket_address at) -> task<socket_address> {
    auto listener = stream_listener::listen(on, at, {.reuse_port = true}).value();
    const socket_address bound = listener.local_address().value();
    server = std::make_unique<http_server>(on, routes);
    on.spawn(serve(std::move(listener)));
    co_return bound;
  }
  auto end() -> task<void> {
    co_await server->stop(10s);
    counts = server->counts();
    server.reset();
  }
};

auto ask(loop& on, std::string url, std::size_t calls) -> task<std::size_t> {
  std::size_t fine = 0;
  for (; calls > 0; --calls) {
    http_client client(on);  // a new connection each time
    const auto answer = co_await client.get(url);
    if (answer && answer->body == "hello") ++fine;
  }
  co_return fine;
}

}  // namespace

TEST_CASE("the kernel spreads connections over the servers of an address, and each is answered") {
  const std::size_t calls = testing::scaled(200);
  testing::looping_threads loops(3);
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  std::array<shard, 2> shards;
  const socket_address at = sync_wait(loops[0], shards[0].start(loops[0], routes, socket_address::loopback(0)));
  sync_wait(loops[1], shards[1].start(loops[1], routes, at));
  CHECK(sync_wait(loops[2], ask(loops[2], "http://" + at.to_string() + "/", calls)) == calls);
  for (std::size_t i = 0; i < shards.size(); ++i) sync_wait(loops[i], shards[i].end());
  CHECK(shards[0].counts.requests > 0);
  CHECK(shards[1].counts.requests > 0);
  CHECK(shards[0].counts.requests + shards[1].counts.requests == calls);
}
