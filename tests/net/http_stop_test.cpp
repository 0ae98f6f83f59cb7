// tests/net/http_stop_test.cpp: a server that stops: what has begun is answered, what is idle is closed.
#include <braid/net/http_server.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace braid;
using testing::http_scene;

namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A handler that waits until it is told to go on.
struct waiting_routes {
  waiting_routes() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.post("/", [](http_exchange& x) -> task<void> {
      const result<std::string> body = co_await x.read_all();
      if (body) x.reply(http_status::ok, "text/plain", std::to_string(body->size()) + " bytes");
    });
    routes.get("/wait", [this](http_exchange& x) -> task<void> {
      ++begun;
      co_await go_on;
      x.reply(http_status::ok, "text/plain", "at last");
    });
  }
  http_router routes;
  event go_on;
  int begun = 0;
};

constexpr std::string_view wait_request = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";

/// Connects peers, one every 0.9 ms, until the address refuses one, and returns how many were connected. A system that
/// does not count waiting connections limits only the time.
auto connect_storm(testing::test_loop& here, const socket_address& address) -> std::size_t {
  std::vector<testing::plain_peer> storm;
  try {
    while (storm.size() < 200) {
      storm.push_back(testing::plain_peer::connected_to(address));
      here.advance(900us);
    }
  } catch (const std::runtime_error&) {  // the listener is closed
  }
  return storm.size();
}

}  // namespace

TEST_CASE("a stop closes what is idle, answers what has begun, and then is over") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto idle = scene.talker();
  idle->say(get);
  REQUIRE(idle->hears("hello"));
  const auto silent = scene.talker();
  const auto busy = scene.talker();
  busy->say(wait_request);
  REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
  scene.stop(10s);
  REQUIRE(idle->hears_end());
  REQUIRE(silent->hears_end());
  CHECK_FALSE(busy->ended());
  scene.here.advance(2ms);
  CHECK_FALSE(scene.is_over());
  all.go_on.set();
  REQUIRE(busy->hears_end());
  CHECK(busy->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(busy->heard().ends_with("at last"));
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(scene.server().counts().open == 0);
}

TEST_CASE("a handler that stops its own server goes on, answers, and does not wait for itself") {
  for (const bool answers_first : {true, false}) {
    INFO(answers_first);
    http_router routes;
    http_server* server = nullptr;
    int ended = 0;
    auto end = [&](http_exchange& x) -> task<void> {
      if (answers_first) x.reply(http_status::ok, "bye");
      auto nested = with_timeout(1h, server->stop(duration::max()));
      static_cast<void>(co_await std::move(nested));
      co_await server->stop(duration::max());  // a second call does not wait either
      if (!answers_first) x.reply(http_status::ok, "bye");
      ++ended;
    };
    routes.get("/", end);
    http_scene scene(routes);
    server = &scene.server();
    const auto idle = scene.talker();
    const auto client = scene.talker();
    client->say(get);
    REQUIRE(client->hears_end());
    CHECK(testing::statuses_of(client->heard()) == "200");
    CHECK(client->heard().ends_with("bye"));
    CHECK(idle->hears_end());
    CHECK(ended == 1);
    scene.here.advance(2ms);
    CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  }
}

TEST_CASE("a request that was sent before the stop is answered, though nobody had looked at it") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto client = scene.talker();
  client->say(wait_request);
  client->say(wait_request);
  REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
  scene.stop(10s);
  all.go_on.set();
  REQUIRE(client->hears_end());
  CHECK(testing::statuses_of(client->heard()) == "200");  // the second one is told that the connection closes
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("a body may come after the stop, where nobody had looked at its head") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears("hello"));
  client->forget();
  client->say_unheard("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  scene.stop(10s);
  scene.here.advance(2ms);
  REQUIRE(client->hears("100 Continue\r\n\r\n"));
  scene.here.run_once(20);
  CHECK(client->heard() == "HTTP/1.1 100 Continue\r\n\r\n");
  client->say("12345");
  REQUIRE(client->hears_end());
  CHECK(client->heard().ends_with("5 bytes"));
  CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("a large body comes in pieces after the stop, on an idle connection and on a new one") {
  waiting_routes all;
  http_scene scene(all.routes, {.limits = {.body_bytes = 10'000'000}});
  const auto idle = scene.talker();
  idle->say(get);
  REQUIRE(idle->hears("hello"));
  const auto silent = scene.talker();
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n";
  for (const auto& client : {idle.get(), silent.get()}) {
    client->forget();
    client->say_unheard(head + std::string(1'000'000, 'x'));
  }
  scene.stop(10s);
  scene.here.advance(2ms);
  for (int piece = 0; piece < 4; ++piece) {
    for (const auto& client : {idle.get(), silent.get()}) client->say(std::string(1'000'000, 'x'));
    scene.here.run_once(20);
  }
  for (const auto& client : {idle.get(), silent.get()}) {
    REQUIRE(client->hears_end());
    CHECK(testing::statuses_of(client->heard()) == "200");
    CHECK(client->heard().ends_with("5000000 bytes"));
  }
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("a connection that only the kernel had taken before the stop may send its body after it") {
  if (testing::tests_tls()) return;  // the peer is plain
  waiting_routes all;
  http_scene scene(all.routes);
  const auto peer = testing::plain_peer::connected_to(scene.address());
  peer.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
  scene.stop(10s);
  scene.here.advance(2ms);
  scene.here.run_once(20);
  CHECK(scene.server().counts().requests == 1);
  CHECK_FALSE(scene.is_over());
  peer.send("345");
  peer.end_writing();
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(peer.receive().ends_with("5 bytes"));
}

TEST_CASE("a connection that only the kernel had taken before the stop is served") {
  if (testing::tests_tls()) return;  // the peer is plain
  waiting_routes all;
  http_scene scene(all.routes);
  const auto peer = testing::plain_peer::connected_to(scene.address());
  peer.send(get);
  scene.stop(10s);  // before the loop has looked at its listener again
  peer.end_writing();
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(scene.server().counts().accepted == 1);
  CHECK(peer.receive().ends_with("hello"));
}

TEST_CASE("a connection that only the kernel had taken, and that says nothing, does not hold up a stop") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto peer = testing::plain_peer::connected_to(scene.address());
  scene.stop(10s);
  if (testing::tests_tls()) scene.here.advance(3s);  // it may shake hands for as long as a last word takes
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(scene.server().counts().accepted == 1);
  CHECK(peer.receive().empty());
}

TEST_CASE("a head that has begun may come to its end after the stop") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto client = scene.talker();
  client->say("GET / HTTP/1.1\r\n");
  scene.stop(10s);
  scene.here.advance(2ms);
  client->say("Host: a\r\n\r\n");
  REQUIRE(client->hears_end());
  CHECK(client->heard().ends_with("hello"));
  CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("what is not done in time is cut") {
  waiting_routes all;
  http_scene scene(all.routes);
  const auto client = scene.talker();
  client->say(wait_request);
  REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
  scene.stop(10s);
  scene.here.advance(9s);
  CHECK_FALSE(client->ended());
  scene.here.advance(2s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().empty());
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("after a stop nobody is taken any more") {
  waiting_routes all;
  http_scene scene(all.routes);
  scene.stop(1s);
  scene.here.advance(2ms);
  REQUIRE(scene.here.run_until([&] { return scene.is_over(); }));
  auto connecting = stream_socket::connect(scene.here.io(), scene.address());
  auto made = scene.here.run(std::move(connecting));
  CHECK(made.take().error() == std::errc::connection_refused);
  scene.stop(1s);  // again changes nothing
}

TEST_CASE("a loop that stops ends the server and its connections with it") {
  waiting_routes all;
  http_scene scene(all.routes);
  {
    const auto client = scene.talker();
    client->say(wait_request);
    REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
    scene.here.stop();
    CHECK(scene.server().counts().open == 0);
    CHECK(client->heard().empty());
  }
}

TEST_CASE("a storm of new connections does not keep a stop from its end") {
  if (testing::tests_tls()) return;  // the peers are plain
  waiting_routes all;
  http_scene scene(all.routes);
  scene.stop(10s);
  CHECK(connect_storm(scene.here, scene.address()) < 60);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("a storm of connections that are not counted does not keep a stop from its end") {
  if (testing::tests_tls()) return;
  testing::test_loop here;
  const auto name = socket_address::unix_abstract("braid.http_stop_test." + std::to_string(::getpid())).value();
  auto listener = stream_listener::listen(here.io(), name);
  if (!listener) return;  // without Unix sockets: TCP connections are not counted either
  REQUIRE_FALSE(listener->waiting());
  const http_router routes;
  http_server server(here.io(), routes);
  bool is_over = false;
  auto serve = [&]() -> task<void> {
    CHECK(co_await server.serve(std::move(*listener)));
    is_over = true;
  };
  here.io().spawn(serve());
  here.run_once();
  auto stop = [&]() -> task<void> { co_await server.stop(10s); };
  here.io().spawn(stop());
  here.run_once();
  CHECK(connect_storm(here, name) < 60);
  CHECK(here.run_until([&] { return is_over; }));
  here.stop();  // and its tasks, before the server
}

TEST_CASE("a server that goes while it serves ends the program with a sentence") {
  const auto end = testing::run_in_child([] {
    testing::test_loop here;
    const http_router routes;
    std::optional<http_server> server(std::in_place, here.io(), routes);
    static_cast<void>(post(here.io(), [&]() -> task<void> {
      static_cast<void>(co_await server->serve(stream_listener::listen(here.io(), "127.0.0.1:0").value()));
    }));
    here.run_once();
    server.reset();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("co_await its stop") != std::string::npos);
}
