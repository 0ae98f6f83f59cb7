// tests/net/http_deadline_test.cpp: clients that are slow, silent or too many, by a clock that the test turns.
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/raw_tls.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace braid;
using testing::http_scene;

namespace {

constexpr std::size_t big = 32U << 20U;  // more than sockets take
constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

auto routes_of(std::string& last_error) -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.post("/", [&](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (!body) last_error = body.error().message();
    if (body) x.reply(http_status::ok, "text/plain", *body);
  });
  routes.get("/large", [&](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    const std::string piece(1U << 20U, 'x');
    result<void> written;
    while (written) written = co_await x.write(piece);
    last_error = written.error().message();
  });
  routes.get("/big", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", std::string(big, 'x')); });
  return routes;
}

struct scene_of_slow : http_scene {
  explicit scene_of_slow(http_server::options options = {}) : http_scene(routes, std::move(options)) {}
  static inline std::string last_error;
  static inline const http_router routes = routes_of(last_error);
};

}  // namespace

TEST_CASE("a head that does not come in time is answered with 408, however its bytes drip") {
  scene_of_slow scene({.head_timeout = 10s});
  const auto client = scene.talker();
  for (int second = 0; second < 9; ++second) {
    client->say("G");
    scene.here.advance(1s);
  }
  CHECK_FALSE(client->ended());
  scene.here.advance(2s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(scene.server().counts().timeouts == 1);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
}

TEST_CASE("the time for a second head begins with its first byte") {
  scene_of_slow scene({.head_timeout = 10s, .idle_timeout = 100s});
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears("hello"));
  scene.here.advance(50s);
  client->forget();
  client->say("GET / HT");
  scene.here.advance(9s);
  CHECK_FALSE(client->ended());
  client->say("TP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(client->hears("hello"));
  client->say("GET");
  scene.here.advance(11s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().find("408") != std::string::npos);
}

TEST_CASE("a connection that never says anything is closed without a word") {
  scene_of_slow scene({.head_timeout = 10s});
  const auto client = scene.talker();
  scene.here.advance(9s);
  CHECK_FALSE(client->ended());
  scene.here.advance(2s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().empty());
}

TEST_CASE("an idle connection is closed without a word") {
  scene_of_slow scene({.head_timeout = 10s, .idle_timeout = 60s});
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears("hello"));
  scene.here.advance(59s);
  client->forget();
  client->say(get);
  REQUIRE(client->hears("hello"));
  client->forget();
  scene.here.advance(59s);
  CHECK_FALSE(client->ended());
  scene.here.advance(2s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().empty());
  CHECK(scene.server().counts().timeouts == 0);
}

TEST_CASE("a head that has come when nobody was to wait for it any longer has the time of its body") {
  scene_of_slow scene({.head_timeout = 10s, .body_timeout = 20s, .idle_timeout = 60s});
  const auto idle = scene.talker();
  idle->say(get);
  REQUIRE(idle->hears("hello"));
  const auto ask = [&](testing::http_talker& client, duration limit) {
    client.forget();
    client.say_unheard("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwe");
    scene.here.advance(limit + 1s);  // the timer fires before anybody looks at what has come
    scene.here.run_once(20);
    CHECK(client.heard().empty());
    client.say("ll");
    CHECK(client.hears("\r\n\r\nwell"));
    CHECK(client.heard().starts_with("HTTP/1.1 200"));
  };
  ask(*idle, 60s);
  ask(*idle, 60s);
  const auto fresh = scene.talker();
  ask(*fresh, 10s);
  fresh->forget();
  fresh->say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwe");
  scene.here.advance(21s);
  CHECK(fresh->hears("HTTP/1.1 408"));
}

TEST_CASE("half a head that has come when nobody was to wait for it any longer has the time of a head") {
  scene_of_slow scene({.head_timeout = 10s, .idle_timeout = 60s});
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears("hello"));
  client->forget();
  client->say_unheard("GET / HT");
  scene.here.advance(61s);
  CHECK_FALSE(client->ended());
  scene.here.advance(9s);
  CHECK_FALSE(client->ended());
  client->say("TP/1.1\r\nHost: a\r\n\r\n");
  CHECK(client->hears("hello"));
}

TEST_CASE("a body that does not come in time is answered with 408") {
  scene_of_slow scene({.body_timeout = 5s});
  const auto client = scene.talker();
  client->say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
  for (int second = 0; second < 4; ++second) {
    client->say("x");
    scene.here.advance(1s);
  }
  CHECK_FALSE(client->ended());
  scene.here.advance(2s);
  REQUIRE(client->hears_end());
  CHECK(client->heard().starts_with("HTTP/1.1 408"));
  CHECK(scene_of_slow::last_error == make_error_code(http_errc::too_slow).message());
}

TEST_CASE("a client that does not read is cut") {
  scene_of_slow scene({.write_timeout = 5s});
  const auto client = scene.talker();
  client->be_deaf();
  client->say("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  scene.here.run_once(50);
  scene_of_slow::last_error.clear();
  CHECK(scene.server().counts().open == 1);
  scene.here.advance(6s);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
  CHECK_FALSE(scene_of_slow::last_error.empty());
  CHECK(scene.server().counts().timeouts == 1);
}

TEST_CASE("a client that has keys changed for ever and reads nothing has no more time than one that is silent") {
  const testing::watchdog dog(300s);
  if (!testing::tests_tls()) return;
  scene_of_slow scene({.head_timeout = 5s, .linger_timeout = 2s});
  const descriptor peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int few = 2048;
  const int little = 536;  // so that the kernel keeps little for it, on the server's side, too
  ::setsockopt(peer.number(), SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
  ::setsockopt(peer.number(), IPPROTO_TCP, TCP_MAXSEG, &little, sizeof(little));
  REQUIRE(::connect(peer.number(), scene.address().data(), scene.address().size()) == 0);
  const testing::raw_context as(testing::raw_context::side::client);
  std::atomic<int> changes{0};
  std::thread client([&] {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    const testing::raw_tls raw(as, peer.number());
    for (bool goes_on = raw.shake_hands(); goes_on; ++changes)
      goes_on = ::SSL_key_update(raw.get(), SSL_KEY_UPDATE_REQUESTED) == 1 && raw.shake_hands();
  });
  // Until the server is held up, which sends replies that nobody takes, or the client because of that.
  CHECK(scene.here.run_until([&, before = -1, same = 0]() mutable {
    const int now = changes.load();
    same = now == before && now > 0 ? same + 1 : 0;
    before = now;
    if (same > 0) std::this_thread::sleep_for(1ms);
    return same == 100 || now >= 20'000;
  }));
  CHECK(scene.server().counts().open == 1);
  scene.here.advance(6s);
  scene.here.advance(3s);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
  CHECK(scene.server().counts().timeouts == 1);
  ::shutdown(peer.number(), SHUT_RDWR);
  client.join();
}

TEST_CASE("each of several answers to what came together has its own time to be sent") {
  if (testing::tests_tls()) return;  // the peer is plain
  scene_of_slow scene({.write_timeout = 5s});
  const auto client = testing::plain_peer::connected_to(scene.address());
  client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\nGET /big HTTP/1.1\r\nHost: a\r\n\r\n");
  scene.here.run_once(20);
  scene.here.advance(4s);
  std::string room(1U << 16U, ' ');
  std::size_t heard = 0;
  REQUIRE(scene.here.run_until([&] {
    ::ssize_t got = 1;
    while (got > 0 && heard <= big + 1'000) {
      got = ::recv(client.number(), room.data(), room.size(), MSG_DONTWAIT);
      if (got > 0) heard += static_cast<std::size_t>(got);
    }
    return heard > big + 1'000;  // the second one is on its way
  }));
  scene.here.advance(2s);
  CHECK(scene.server().counts().open == 1);
  scene.here.advance(4s);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
}

TEST_CASE("a client that never closes does not keep a connection that was refused") {
  scene_of_slow scene({.linger_timeout = 2s});
  const auto client = scene.talker();
  client->be_deaf();
  client->say("BAD\r\n\r\n");
  scene.here.run_once(20);
  CHECK(scene.server().counts().open == 1);
  scene.here.advance(3s);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
}

TEST_CASE("no more connections are taken than may be, and the one that is idle longest makes room") {
  scene_of_slow scene({.connections = 2});
  const auto first = scene.talker();
  const auto second = scene.talker();
  first->say(get);
  REQUIRE(first->hears("hello"));
  second->say("GET / HT");
  const auto third = scene.talker();
  third->say(get);
  REQUIRE(third->hears("hello"));
  CHECK(first->hears_end());
  CHECK(scene.server().counts().open <= 2);
  second->say("TP/1.1\r\nHost: a\r\n\r\n");
  CHECK(second->hears("hello"));
}

TEST_CASE("who has to make room and has sent a head meanwhile may send its body") {
  if (testing::tests_tls()) return;  // the peer is plain
  scene_of_slow scene({.connections = 1});
  const auto first = scene.talker();
  first->say(get);
  REQUIRE(first->hears("hello"));
  first->forget();
  const auto second = testing::plain_peer::connected_to(scene.address());
  first->say_unheard("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwe");
  scene.here.run_once(20);
  CHECK(first->heard().empty());
  first->say("ll");
  REQUIRE(first->hears_end());
  CHECK(first->heard().ends_with("\r\n\r\nwell"));
  CHECK(scene.here.run_until([&] { return scene.server().counts().accepted == 2; }));
}

TEST_CASE("where the one that has to make room is asked for something first, the next one makes it") {
  if (testing::tests_tls()) return;  // the peer is plain
  scene_of_slow scene({.connections = 2});
  const auto first = scene.talker();
  const auto second = scene.talker();
  for (const auto* each : {&first, &second}) {
    (*each)->say(get);
    REQUIRE((*each)->hears("hello"));
    (*each)->forget();
  }
  const auto third = testing::plain_peer::connected_to(scene.address());
  first->say_unheard("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwe");
  REQUIRE(second->hears_end());
  CHECK(scene.here.run_until([&] { return scene.server().counts().accepted == 3; }));
  first->say("ll");
  CHECK(first->hears("\r\n\r\nwell"));
}

TEST_CASE("a connection beyond the limit waits until one ends") {
  scene_of_slow scene({.connections = 1});
  const auto first = scene.talker();
  first->say("GET / HT");
  const auto second = scene.talker();
  second->say(get);
  scene.here.run_once(20);
  CHECK(second->heard().empty());
  first->say("TP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(first->hears("hello"));
  CHECK(second->hears("hello"));
  CHECK(first->ended());
}

TEST_CASE("a handler that reads and writes at the same time has both deadlines") {
  std::string read;
  std::string written;
  http_router routes;
  routes.post("/reads", [&](http_exchange& x) -> task<void> {
    auto reads = [&]() -> task<void> {
      const result<std::string> body = co_await x.read_all();
      read = body ? "all" : body.error().message();
    };
    auto writes = [&]() -> task<void> {
      while (read.empty() && (co_await x.write("x")).has_value()) co_await sleep_for(1s);
    };
    x.begin(http_status::ok);
    auto both = when_all(reads(), writes());
    co_await std::move(both);
  });
  routes.post("/writes", [&](http_exchange& x) -> task<void> {
    auto reads = [&]() -> task<void> {
      while (written.empty() && (co_await x.read_some()).has_value()) {}
    };
    auto writes = [&]() -> task<void> {
      const std::string piece(big, 'x');
      const result<void> sent = co_await x.write(piece);
      written = sent ? "all" : "too slow";
    };
    x.begin(http_status::ok);
    auto both = when_all(reads(), writes());
    co_await std::move(both);
  });
  http_scene scene(routes, {.body_timeout = 5s, .write_timeout = 5s});
  SUBCASE("the client sends nothing more") {
    const auto client = scene.talker();
    client->say("POST /reads HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
    for (int second = 0; second < 8; ++second) scene.here.advance(1s);
    CHECK(read == make_error_code(http_errc::too_slow).message());
  }
  SUBCASE("the client receives nothing more") {
    const auto client = scene.talker();
    client->be_deaf();
    client->say("POST /writes HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nab");
    for (int second = 0; second < 4; ++second) {
      client->say("c");
      scene.here.advance(1s);
    }
    CHECK(written == "");
    for (int second = 0; second < 4; ++second) scene.here.advance(1s);
    CHECK(written == "too slow");
  }
}
