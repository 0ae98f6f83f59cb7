// tests/net/http_stop_stress.cpp: servers that stop under load: whatever a handler answered, the client has.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/tested_transport.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

using namespace braid;

namespace {

constexpr int callers = 20;

/// One life of a server, on a loop of its own, and of its clients on another one.
struct life {
  atomic<std::uint64_t> handled{0};   // by the server's loop
  atomic<std::uint64_t> answered{0};  // by the clients' loop, as the rest
  atomic<std::uint64_t> broken{0};    // answers that are not what the handler said
  std::uint64_t failed = 0;
  http_router routes;
  std::unique_ptr<http_server> server;
  std::string url;

  life() {
    routes.get("/", [this](http_exchange& x) { answer(x); });
    routes.post("/", [this](http_exchange& x) -> task<void> {
      if (const auto body = co_await x.read_all()) answer(x);
    });
    routes.get("/later", [this](http_exchange& x) -> task<void> {
      co_await yield();
      x.begin(http_status::ok);
      const result<void> first = co_await x.write("al");
      if (first) handled.fetch_add(1, relaxed);
      if (first) static_cast<void>(co_await x.write("l"));
    });
  }

  void answer(http_exchange& x) {
    handled.fetch_add(1, relaxed);
    x.reply(http_status::ok, {}, "all");
  }

  auto start(loop& on) -> task<void> {
    server = std::make_unique<http_server>(on, routes, testing::tested(http_server::options()));
    auto listener = stream_listener::listen(on, socket_address::loopback(0)).value();
    url = testing::tested_url(listener.local_address().value());
    on.spawn(serve(std::move(listener)));
    co_return;
  }
  auto serve(stream_listener listener) -> task<void> { static_cast<void>(co_await server->serve(std::move(listener))); }
  auto end(duration grace) -> task<void> {
    co_await server->stop(grace);
    server.reset();
  }

  /// Asks until nobody answers any more.
  auto call(http_client& client, std::uint64_t seed) -> task<void> {
    random_source random(seed);
    for (;;) {
      http_client::call what{.url = url + (random.below(2) == 0 ? "/" : "/later")};
      if (random.below(3) == 0) what = {.method = http_method::post, .url = url + "/", .body = std::string(100, 'x')};
      const auto got = co_await client.fetch(std::move(what));
      if (!got) break;
      answered.fetch_add(1, relaxed);
      if (got->body != "all") broken.fetch_add(1, relaxed);
    }
    ++failed;
  }
  auto ask(loop& on, std::uint64_t seed) -> task<void> {
    http_client client(on, testing::tested(http_client::options()));
    auto all = [&](scope& children) -> task<void> {
      for (int i = 0; i < callers; ++i) children.spawn(call(client, seed + static_cast<std::uint64_t>(i)));
      co_return;
    };
    co_await with_scope(std::ref(all));
  }
};

}  // namespace

TEST_CASE("a stop under load loses no answer") {
  testing::looping_threads loops(2);
  random_source random(testing::printed_seed());
  std::uint64_t total = 0;
  for (std::size_t cycles = testing::scaled(40); cycles > 0; --cycles) {
    life one;
    sync_wait(loops[0], one.start(loops[0]));
    std::thread asking([&, seed = random()] { sync_wait(loops[1], one.ask(loops[1], seed)); });
    const auto enough = random.below(400);
    CHECK(testing::eventually([&] { return one.answered.load(relaxed) >= enough; }));
    sync_wait(loops[0], one.end(20s));
    asking.join();
    CHECK(one.failed == callers);
    CHECK(one.handled.load(relaxed) == one.answered.load(relaxed));
    CHECK(one.broken.load(relaxed) == 0);
    total += one.answered.load(relaxed);
  }
  std::printf("%llu answers\n", static_cast<unsigned long long>(total));
}
