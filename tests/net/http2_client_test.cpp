// tests/net/http2_client_test.cpp: a client and a server of the library that speak HTTP/2 with each other.
#include <braid/net/http_client.hpp>

#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/http2_script.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/tls_scene.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;
using namespace braid::testing;

namespace {

struct spoken_routes {
  spoken_routes() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.get("/trace", [](http_exchange& x) {
      x.reply(http_status::ok, "text/plain", x.request().fields.find("traceparent").value_or("none"));
    });
    routes.get("/empty", [](http_exchange& x) { x.reply(http_status::no_content); });
    routes.post("/", [](http_exchange& x) -> task<void> {
      const result<std::string> body = co_await x.read_all();
      if (!body) co_return;
      static_cast<void>(x.set_field("X-Length", x.request().fields.find("content-length").value_or("none")));
      x.reply(http_status::ok, "text/plain", *body);
    });
    routes.post("/echo", [](http_exchange& x) -> task<void> {
      x.begin(http_status::ok);
      for (;;) {
        const auto piece = co_await x.read_some();
        if (!piece || piece->empty()) break;
        const std::string copy(*piece);
        if (!co_await x.write(copy)) break;
      }
    });
    routes.post("/no", [](http_exchange& x) { x.reply(http_status::content_too_large, "text/plain", "too much"); });
    routes.get("/moved", [](http_exchange& x) {
      static_cast<void>(x.set_field("Location", "/"));
      x.reply(http_status::found);
    });
    routes.get("/wait", [this](http_exchange& x) -> task<void> {
      most = std::max(most, ++running);
      co_await go_on;
      --running;
      x.reply(http_status::ok, "text/plain", "went on");
    });
    routes.get("/endless", [this](http_exchange& x) -> task<void> {
      x.begin(http_status::ok);
      const std::string piece(10'000, 'x');
      while (co_await x.write(piece)) written += piece.size();
      has_ended = true;
    });
  }

  http_router routes;
  event go_on;
  int running = 0;
  int most = 0;
  std::size_t written = 0;
  bool has_ended = false;
};

struct spoken_scene : spoken_routes, http_scene {
  explicit spoken_scene(http_client::options asking = {}, http_server::options serving = {})
      : http_scene(routes, with_limits(std::move(serving))),
        client(std::make_unique<http_client>(here.io(), knowing_http2(std::move(asking)))) {}
  spoken_scene(const spoken_scene&) = delete;
  auto operator=(const spoken_scene&) -> spoken_scene& = delete;
  ~spoken_scene() { here.stop(); }

  static auto with_limits(http_server::options options) -> http_server::options {
    options.limits.body_bytes = 64U << 20U;
    return options;
  }

  [[nodiscard]] auto url(std::string_view path) const -> std::string {
    return "http://" + address().to_string() += path;
  }
  auto fetch(http_client::call call) -> result<http_client::answer> {
    outcome<result<http_client::answer>> ended = here.run(client->fetch(std::move(call)));
    return ended.take();
  }
  auto get(std::string_view path) -> result<http_client::answer> { return fetch({.url = url(path)}); }
  auto begin(std::string_view path) -> begun_call { return {here, *client, {.url = url(path)}}; }
  auto open(std::string_view path) -> result<http_client::incoming> {
    auto opening = client->open({.url = url(path)});
    outcome<result<http_client::incoming>> ended = here.run(std::move(opening));
    return ended.take();
  }

  std::unique_ptr<http_client> client;
};

/// A server and a client over TLS, which offer these protocols.
struct negotiating_scene : spoken_routes, http_scene {
  negotiating_scene(std::vector<std::string> served, std::vector<std::string> asked, http_client::options asking = {})
      : http_scene(routes, {.tls = server_of(std::move(served))}),
        client(here.io(), with_tls(std::move(asking), std::move(asked))) {}
  negotiating_scene(const negotiating_scene&) = delete;
  auto operator=(const negotiating_scene&) -> negotiating_scene& = delete;
  ~negotiating_scene() { here.stop(); }

  static auto server_of(std::vector<std::string> protocols) -> tls_context {
    tls_context::server_options options = known_server();
    options.protocols = std::move(protocols);
    return server_context(options);
  }
  static auto with_tls(http_client::options options, std::vector<std::string> protocols) -> http_client::options {
    tls_context::client_options trusting = trusting_client();
    trusting.protocols = std::move(protocols);
    options.tls = client_context(trusting);
    return options;
  }
  [[nodiscard]] auto url(std::string_view path) const -> std::string {
    return "https://" + address().to_string() += path;
  }
  auto get(std::string_view path) -> result<http_client::answer> {
    outcome<result<http_client::answer>> ended = here.run(client.get(url(path)));
    return ended.take();
  }

  http_client client;
};

}  // namespace

TEST_CASE("calls of one client share a connection of HTTP/2") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  std::vector<begun_call> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(scene.begin("/wait"));
  REQUIRE(scene.here.run_until([&] { return scene.running == 50; }));
  CHECK(scene.client->idle_connections() == 0);
  CHECK(scene.get("/")->body == "hello");
  scene.go_on.set();
  CHECK(scene.here.run_until([&] { return std::ranges::all_of(calls, &begun_call::is_over); }));
  for (const begun_call& each : calls) CHECK(each.text() == "200 went on");
  CHECK(scene.server().counts().accepted == 1);
  CHECK(scene.server().counts().http2 == 1);
  CHECK(scene.client->idle_connections() == 1);
}

TEST_CASE("heads and bodies are those of HTTP/1.1") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  const auto hello = scene.get("/");
  REQUIRE(hello.has_value());
  CHECK(hello->status == http_status::ok);
  CHECK(hello->field("content-TYPE") == "text/plain");
  const auto whole = scene.fetch({.method = http_method::post, .url = scene.url("/"), .body = "abc"});
  CHECK(whole->body == "abc");
  CHECK(whole->field("X-Length") == "3");
  int left = 3;
  auto pieces = [&]() -> task<result<std::string>> { co_return left-- > 0 ? "piece" : std::string(); };
  const auto several = scene.fetch({.method = http_method::post, .url = scene.url("/"), .pieces = pieces});
  CHECK(several->body == "piecepiecepiece");
  CHECK(several->field("X-Length") == "none");
  const auto head = scene.fetch({.method = http_method::head, .url = scene.url("/")});
  CHECK(head->field("Content-Length") == "5");
  CHECK(head->body.empty());
  CHECK(scene.get("/empty")->status == http_status::no_content);
  CHECK(scene.get("/missing")->status == http_status::not_found);
  CHECK(scene.fetch({.method = http_method::post, .url = scene.url("/")})->field("X-Length") == "0");
  CHECK(scene.fetch({.url = scene.url("/"), .fields = {{"Host", "other"}}}).error() == http_errc::reserved_field);
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("the framing in a head says how the body ends") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  using kind = http_framing::kind;
  const auto whole = scene.open("/");
  REQUIRE(whole.has_value());
  CHECK(whole->head().body == http_framing{kind::length, 5});
  const auto none = scene.open("/empty");
  CHECK(none->head().body.how == kind::none);
  const auto pieces = scene.open("/endless");
  CHECK(pieces->head().body.how == kind::chunked);
  CHECK(pieces->head().keep_alive);
}

TEST_CASE("redirects are followed on the same connection, and a call carries its trace") {
  if (!can_speak_http2()) return;
  spoken_scene scene({.redirects = 1});
  CHECK(scene.get("/moved")->body == "hello");
  CHECK(scene.get("/moved")->url == scene.url("/"));
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(scene.fetch({.url = scene.url("/trace"), .fields = {{"traceparent", trace}}})->body == trace);
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("a server of HTTP/2 may send while it receives, however much") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  std::string large(3'000'000, 'x');
  for (std::size_t at = 0; at < large.size(); at += 1'000) large[at] = static_cast<char>('a' + at / 1'000 % 26);
  const auto whole = scene.fetch({.method = http_method::post, .url = scene.url("/echo"), .body = large});
  REQUIRE(whole.has_value());
  CHECK((whole->body == large));
  std::size_t sent = 0;
  auto pieces = [&]() -> task<result<std::string>> {
    std::string piece = large.substr(sent, 300'000);
    sent += piece.size();
    co_return piece;
  };
  const auto parts = scene.fetch({.method = http_method::post, .url = scene.url("/echo"), .pieces = pieces});
  REQUIRE(parts.has_value());
  CHECK((parts->body == large));
}

TEST_CASE("a server that refuses a call early is heard, and the pieces are stopped") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  int asked = 0;
  event never;
  auto pieces = [&]() -> task<result<std::string>> {
    if (++asked > 3) co_await never;
    co_return std::string(1'000, 'x');
  };
  const auto refused = scene.fetch({.method = http_method::post, .url = scene.url("/no"), .pieces = pieces});
  REQUIRE(refused.has_value());
  CHECK(refused->status == http_status::content_too_large);
  CHECK(refused->body == "too much");
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("a source of pieces that fails ends its call, and no other") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  auto failing = []() -> task<result<std::string>> { co_return fail(std::make_error_code(std::errc::io_error)); };
  const auto failed = scene.fetch({.method = http_method::post, .url = scene.url("/"), .pieces = failing});
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error() == std::errc::io_error);
  auto throwing = []() -> task<result<std::string>> {
    co_await yield();
    throw std::runtime_error("no");
  };
  auto throws = scene.client->fetch({.method = http_method::post, .url = scene.url("/"), .pieces = throwing});
  CHECK(scene.here.run(std::move(throws)).has_exception());
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("a body that is not read holds up its server, and no other call") {
  if (!can_speak_http2()) return;
  spoken_scene scene({.http2 = {.stream_window = 100'000}});
  auto slow = scene.open("/endless");
  REQUIRE(slow.has_value());
  scene.here.run_once(100);
  CHECK(scene.written <= 120'000);
  for (int i = 0; i < 3; ++i) CHECK(scene.get("/")->body == "hello");
  const std::size_t before = scene.written;
  for (int i = 0; i < 20; ++i) {
    auto reading = slow->read_some();
    outcome<result<std::string_view>> read = scene.here.run(std::move(reading));
    REQUIRE_FALSE(read.take().value().empty());
    scene.here.run_once(10);
  }
  CHECK(scene.written > before);
  CHECK_FALSE(scene.has_ended);
}

TEST_CASE("an answer that is given up ends its stream, and not the connection") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  {
    const auto dropped = scene.open("/endless");
    REQUIRE(dropped.has_value());
  }
  CHECK(scene.here.run_until([&] { return scene.has_ended; }));
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("a call that is stopped ends its stream, and not the connection") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  auto limited = with_timeout(1s, scene.client->get(scene.url("/wait")));
  outcome<result<http_client::answer>> late = scene.here.run_through(std::move(limited), 100ms);
  CHECK(late.take().error() == errc::deadline_exceeded);
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.server().counts().accepted == 1);
  scene.go_on.set();
  CHECK(scene.here.run_until([&] { return scene.running == 0; }));
}

TEST_CASE("calls beyond the limit of the server use another connection, or wait") {
  if (!can_speak_http2()) return;
  for (const std::size_t connections : {1U, 2U}) {
    CAPTURE(connections);
    spoken_scene scene({.connections_per_host = connections}, {.http2 = {.streams = 3}});
    CHECK(scene.get("/")->body == "hello");  // the settings of the server are known
    std::vector<begun_call> calls;
    for (int i = 0; i < 10; ++i) calls.push_back(scene.begin("/wait"));
    const int expected = 3 * static_cast<int>(connections);
    REQUIRE(scene.here.run_until([&] { return scene.running == expected; }));
    scene.here.run_once(50);
    CHECK(scene.running == expected);
    scene.go_on.set();
    CHECK(scene.here.run_until([&] { return std::ranges::all_of(calls, &begun_call::is_over); }));
    for (const begun_call& each : calls) CHECK(each.text() == "200 went on");
    CHECK(scene.server().counts().accepted == connections);
    CHECK(scene.server().counts().refused == 0);
  }
}

TEST_CASE("the option limits the calls of a connection, too") {
  if (!can_speak_http2()) return;
  spoken_scene scene({.connections_per_host = 1, .http2 = {.streams = 2}});
  std::vector<begun_call> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(scene.begin("/wait"));
  REQUIRE(scene.here.run_until([&] { return scene.running == 2; }));
  scene.here.run_once(50);
  CHECK(scene.most == 2);
  scene.go_on.set();
  CHECK(scene.here.run_until([&] { return std::ranges::all_of(calls, &begun_call::is_over); }));
}

TEST_CASE("a call that waits for its turn and is stopped leaves the queue") {
  if (!can_speak_http2()) return;
  spoken_scene scene({.connections_per_host = 1, .http2 = {.streams = 1}});
  const begun_call first = scene.begin("/wait");
  REQUIRE(scene.here.run_until([&] { return scene.running == 1; }));
  auto limited = with_timeout(1s, scene.client->get(scene.url("/")));
  outcome<result<http_client::answer>> late = scene.here.run_through(std::move(limited), 100ms);
  CHECK(late.take().error() == errc::deadline_exceeded);
  const begun_call second = scene.begin("/");
  scene.go_on.set();
  CHECK(scene.here.run_until([&] { return second.is_over(); }));
  CHECK(second.text() == "200 hello");
  CHECK(first.text() == "200 went on");
}

TEST_CASE("a server that stops answers what it has received, and ends the connection") {
  if (!can_speak_http2()) return;
  spoken_scene scene;
  const begun_call running = scene.begin("/wait");
  REQUIRE(scene.here.run_until([&] { return scene.running == 1; }));
  scene.stop(10s);
  scene.go_on.set();
  CHECK(scene.here.run_until([&] {
    scene.here.advance(1ms);
    return running.is_over() && scene.is_over();
  }));
  CHECK(running.text() == "200 went on");
  CHECK(scene.client->idle_connections() == 0);
  const auto refused = scene.get("/");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == std::errc::connection_refused);
}

TEST_CASE("calls that wait for a connection that cannot be made fail with it") {
  if (!can_speak_http2()) return;
  test_loop here;
  http_client client(here.io(), knowing_http2());
  std::string url;
  {
    const auto gone = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
    url = "http://" + gone.local_address().value().to_string() + "/";
  }
  std::vector<begun_call> calls;
  for (int i = 0; i < 5; ++i) calls.emplace_back(here, client, http_client::call{.url = url});
  CHECK(here.run_until([&] { return std::ranges::all_of(calls, &begun_call::is_over); }));
  const std::string refused = std::make_error_code(std::errc::connection_refused).message();
  for (const begun_call& each : calls) CHECK(each.text() == refused);
}

TEST_CASE("a connection of HTTP/2 ends when it has been idle for too long, or its client is destroyed") {
  if (!can_speak_http2()) return;
  spoken_scene scene({.idle_timeout = 5s});
  CHECK(scene.get("/")->body == "hello");
  scene.here.advance(4s);
  CHECK(scene.client->idle_connections() == 1);
  scene.here.advance(2s);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
  CHECK(scene.client->idle_connections() == 0);
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.server().counts().accepted == 2);
  scene.client.reset();
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
}

TEST_CASE("over TLS, both sides choose the version") {
  if (!can_speak_http2()) return;
  struct row {
    std::vector<std::string> served;
    std::vector<std::string> asked;
    http_client::http2_use use;
    std::string outcome;
  };
  const std::vector<std::string> both{"h2", "http/1.1"};
  const std::vector<std::string> old{"http/1.1"};
  using use = http_client::http2_use;
  const std::vector<row> rows{
      {both, both, use::negotiated, "2"}, {both, both, use::known, "2"}, {old, both, use::negotiated, "1"},
      {both, old, use::negotiated, "1"},  {both, {}, use::known, "1"},   {both, {"h2"}, use::never, "no"},
  };
  for (const row& each : rows) {
    negotiating_scene scene(each.served, each.asked, {.http2 = {.use = each.use}});
    const auto first = scene.get("/");
    if (each.outcome == "no") {
      REQUIRE_FALSE(first.has_value());
      CHECK(first.error() == tls_errc::no_application_protocol);
      continue;
    }
    REQUIRE(first.has_value());
    CHECK(first->body == "hello");
    CHECK(scene.get("/")->body == "hello");
    CHECK(scene.server().counts().accepted == 1);
    CHECK(scene.server().counts().http2 == (each.outcome == "2" ? 1U : 0U));
    CHECK(scene.client.idle_connections() == 1);
  }
}

TEST_CASE("the first calls over TLS wait for one handshake, which shows the version") {
  if (!can_speak_http2()) return;
  for (const bool speaks_http2 : {true, false}) {
    CAPTURE(speaks_http2);
    const std::vector<std::string> served =
        speaks_http2 ? std::vector<std::string>{"h2", "http/1.1"} : std::vector<std::string>{"http/1.1"};
    negotiating_scene scene(served, {"h2", "http/1.1"}, {.connections_per_host = 3});
    std::vector<std::string> heard;
    auto ask = [&]() -> task<void> {
      auto asking = scene.client.get(scene.url("/"));
      const auto answer = co_await std::move(asking);
      heard.push_back(answer ? answer->body : answer.error().message());
    };
    for (int i = 0; i < 6; ++i) scene.here.io().spawn(ask());
    CHECK(scene.here.run_until([&] { return heard.size() == 6; }));
    CHECK(heard == std::vector<std::string>(6, "hello"));
    CHECK(scene.server().counts().accepted <= (speaks_http2 ? 1U : 3U));
  }
}

TEST_CASE("a server that answers by HTTP/1 is named as such") {
  if (!can_speak_http2()) return;
  spoken_scene scene({}, {.http2 = {.enabled = false}});
  CHECK(scene.get("/").error() == http_errc::speaks_http1);

  auto listener = stream_listener::listen(scene.here.io(), socket_address::loopback(0)).value();
  const auto answer = [](stream_listener& at, std::string bytes) -> task<void> {
    const auto socket = co_await at.accept();
    for (const char each : bytes) {
      static_cast<void>(co_await socket->write_all(bytes_of(std::string_view(&each, 1))));
      co_await yield();
    }
    std::array<std::byte, 1024> room{};
    for (;;)
      if (const auto got = co_await socket->read_some(room); !got || *got == 0) co_return;
  };
  const std::string url = "http://" + listener.local_address().value().to_string() + "/";
  for (const auto& [bytes, error] :
       {std::pair<std::string, http_errc>{"HTTP/1.1 400 Bad Request\r\n\r\n", http_errc::speaks_http1},
        {"HTTP/2.0 400 Bad Request\r\n\r\n", http_errc::bad_frame}}) {
    scene.here.io().spawn(answer(listener, bytes));
    CHECK(scene.fetch({.url = url}).error() == error);
  }
}

#endif
