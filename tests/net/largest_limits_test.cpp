// tests/net/largest_limits_test.cpp: the largest value of each limit and timeout of HTTP and Redis means that there is
// none.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/redis_options.hpp>

#include <tests/net/redis_nodes.hpp>
#include <tests/net/redis_scene.hpp>
#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>

using namespace braid;
using testing::http_scene;
using testing::statuses_of;

namespace {

/// An option, and how it is set to its largest value.
template <typename Options>
struct limit {
  std::string_view name;
  void (*set)(Options&);
};

template <typename T>
void to_largest(T& option) {
  option = std::numeric_limits<T>::max();
}
void to_largest(duration& option) { option = duration::max(); }

constexpr auto of_servers = std::to_array<limit<http_server::options>>({
    {"nothing", [](auto&) {}},
    {"limits.target_bytes", [](auto& o) { to_largest(o.limits.target_bytes); }},
    {"limits.head_bytes", [](auto& o) { to_largest(o.limits.head_bytes); }},
    {"limits.fields", [](auto& o) { to_largest(o.limits.fields); }},
    {"limits.body_bytes", [](auto& o) { to_largest(o.limits.body_bytes); }},
    {"connections", [](auto& o) { to_largest(o.connections); }},
    {"head_timeout", [](auto& o) { to_largest(o.head_timeout); }},
    {"body_timeout", [](auto& o) { to_largest(o.body_timeout); }},
    {"idle_timeout", [](auto& o) { to_largest(o.idle_timeout); }},
    {"write_timeout", [](auto& o) { to_largest(o.write_timeout); }},
    {"linger_timeout", [](auto& o) { to_largest(o.linger_timeout); }},
    {"handshakes", [](auto& o) { to_largest(o.handshakes); }},
    {"pacing.max_wait", [](auto& o) { to_largest(o.pacing.max_wait); }},
});

constexpr auto of_clients = std::to_array<limit<http_client::options>>({
    {"limits.target_bytes", [](auto& o) { to_largest(o.limits.target_bytes); }},
    {"limits.head_bytes", [](auto& o) { to_largest(o.limits.head_bytes); }},
    {"limits.fields", [](auto& o) { to_largest(o.limits.fields); }},
    {"limits.body_bytes", [](auto& o) { to_largest(o.limits.body_bytes); }},
    {"connections_per_host", [](auto& o) { to_largest(o.connections_per_host); }},
    {"idle_timeout", [](auto& o) { to_largest(o.idle_timeout); }},
    {"connect_timeout", [](auto& o) { to_largest(o.connect_timeout); }},
    {"redirects", [](auto& o) { to_largest(o.redirects); }},
});

constexpr auto of_connections = std::to_array<limit<redis_options>>({
    {"connect_timeout", [](auto& o) { to_largest(o.connect_timeout); }},
    {"request_timeout", [](auto& o) { to_largest(o.request_timeout); }},
    {"silence", [](auto& o) { to_largest(o.silence); }},
    {"silence_when_left", [](auto& o) { to_largest(o.silence_when_left); }},
    {"backoff.max_delay", [](auto& o) { to_largest(o.backoff.max_delay); }},
    {"in_flight", [](auto& o) { to_largest(o.in_flight); }},
    {"in_flight of shared reads",
     [](auto& o) {
       to_largest(o.in_flight);
       o.repeats = redis_repeats::shared;
     }},
    {"queue", [](auto& o) { to_largest(o.queue); }},
    {"limits.depth", [](auto& o) { to_largest(o.limits.depth); }},
    {"limits.line", [](auto& o) { to_largest(o.limits.line); }},
    {"limits.reply", [](auto& o) { to_largest(o.limits.reply); }},
});

constexpr auto of_clusters = std::to_array<limit<redis_cluster::options>>({
    {"max_hops", [](auto& o) { to_largest(o.max_hops); }},
    {"refresh_pause", [](auto& o) { to_largest(o.refresh_pause); }},
    {"connection.request_timeout", [](auto& o) { to_largest(o.connection.request_timeout); }},
    {"connection.connect_timeout", [](auto& o) { to_largest(o.connection.connect_timeout); }},
});

auto routes() -> http_router {
  http_router all;
  all.post("/", [](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (body) x.reply(http_status::ok, *body);
  });
  all.get("/", [](http_exchange& x) { x.reply(http_status::ok, "hello"); });
  return all;
}

}  // namespace

TEST_CASE("a server without a limit serves a client that is slow in each part of its requests") {
  const http_router all = routes();
  for (const auto& [name, set] : of_servers) {
    INFO(name);
    http_server::options options;
    set(options);
    http_scene scene(all, options);
    const auto client = scene.talker();
    for (int i = 0; i < 2; ++i) {
      client->forget();
      for (const std::string_view part :
           {"POST /?a=b HTTP/1.1\r\nHo", "st: a\r\nContent-Length: 4\r\n\r\n", "bo", "dy"}) {
        client->say(part);
        scene.here.advance(1s);
      }
      REQUIRE(client->hears("body"));
      CHECK(statuses_of(client->heard()) == "200");
      scene.here.advance(50s);
      CHECK_FALSE(client->ended());
    }
    scene.stop(duration::max());
    CHECK(client->hears_end());
    scene.here.advance(2ms);  // the last look for connections
    CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  }
}

TEST_CASE("a server without a timeout waits for ever, and goes on then") {
  const http_router all = routes();
  http_server::options options;
  for (const auto& [name, set] : of_servers) set(options);
  http_scene scene(all, options);
  const auto client = scene.talker();
  for (int i = 0; i < 2; ++i) {
    client->forget();
    for (const std::string_view part : {"POST / HTTP/1.1\r\nHo", "st: a\r\nContent-Length: 4\r\n\r\n", "bo", "dy"}) {
      scene.here.advance(24h);
      client->say(part);
    }
    REQUIRE(client->hears("body"));
    CHECK(statuses_of(client->heard()) == "200");
  }
}

TEST_CASE("a client without a limit asks as others do, and keeps its connection") {
  const http_router all = routes();
  for (const auto& [name, set] : of_clients) {
    INFO(name);
    http_scene scene(all, {.idle_timeout = duration::max()});
    http_client::options options;
    set(options);
    http_client client(scene.here.io(), testing::tested(options));
    for (int i = 0; i < 2; ++i) {
      const auto answer = scene.here.run(client.get(testing::tested_url(scene.address(), "/"))).take();
      REQUIRE(answer.has_value());
      CHECK(answer->body == "hello");
      scene.here.advance(name == "idle_timeout" ? duration(24h) : duration(1s));
      CHECK(client.idle_connections() == 1);
    }
    CHECK(scene.server().counts().accepted == 1);
  }
}

TEST_CASE("a connection to Redis without a limit answers as others do") {
  for (const auto& [name, set] : of_connections) {
    INFO(name);
    redis_options options;
    set(options);
    testing::redis_scene scene(options);
    scene.connect();
    for (int i = 0; i < 3; ++i) {
      const auto call = scene.get("a");
      scene.run_once();
      CHECK(scene.server().take() == testing::command_bytes({"GET", "a"}));
      scene.loop().advance(500ms);
      CHECK_FALSE(call->over);
      scene.send(testing::bulk("A"));
      CHECK(call->text == "A");
    }
  }
}

TEST_CASE("a cluster without a limit answers as others do") {
  for (const auto& [name, set] : of_clusters) {
    INFO(name);
    testing::redis_nodes world(2, 1);
    set(world.options);
    world.say_master({1});
    for (int i = 0; i < 3; ++i) {
      const auto call = world.get("foo");
      world.pass(3);
      CHECK(call->text == "b:foo");
    }
  }
}
