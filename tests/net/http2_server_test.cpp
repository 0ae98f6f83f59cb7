// tests/net/http2_server_test.cpp: a server that speaks HTTP/2, as handlers and clients see it.
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_events.hpp>
#include <braid/net/websocket.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/tls_scene.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;
using namespace braid::testing;

namespace {

/// Routes that show what a handler sees.
struct http2_routes {
  http2_routes() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.get("/head/{id}", [](http_exchange& x) {
      std::string out(x.request().target);
      out.append(" ").append(x.value("id")).append(" ").append(x.request().query).append(" ").append(x.request().host);
      for (const http_fields::field& each : x.request().fields)
        out.append("|").append(each.name).append("=").append(each.value);
      x.reply(http_status::ok, "text/plain", out);
    });
    routes.post("/echo", [](http_exchange& x) -> task<void> {
      const result<std::string> body = co_await x.read_all();
      if (!body) co_return;
      std::string out = *body;
      for (const http_fields::field& each : x.trailers())
        out.append("|").append(each.name).append("=").append(each.value);
      x.reply(http_status::ok, "text/plain", out);
    });
    routes.post("/now", [](http_exchange& x) {
      x.reply(http_status::ok, "text/plain", std::string(x.read_now().value_or("not there")));
    });
    routes.post("/wait", [this](http_exchange& x) -> task<void> {
      ++begun;
      co_await go_on;
      const result<std::string_view> piece = co_await x.read_some();
      x.reply(http_status::ok, "text/plain", piece ? std::string(*piece) : piece.error().message());
    });
    routes.get("/pieces", [this](http_exchange& x) -> task<void> {
      x.begin(http_status::ok, "text/plain");
      for (const char* piece : {"one ", "two ", "three"}) {
        written = co_await x.write(piece);
        if (!written) co_return;
        ++pieces;
      }
    });
    routes.get("/short", [](http_exchange& x) { x.begin(http_status::ok, "text/plain", 10); });
    routes.get("/throw", [](http_exchange&) { throw std::runtime_error("no"); });
    routes.get("/upgrade", [](http_exchange& x) {
      static_cast<void>(x.set_field("Upgrade", "h3"));
      static_cast<void>(x.set_field("X-Own", "Value"));
      x.reply(http_status::no_content);
    });
    routes.get("/late", {.name = "late", .deadline = 1s}, [](http_exchange&) -> task<void> { co_await sleep_for(1h); });
    routes.get("/socket", [](http_exchange& x) -> task<void> {
      auto opened = x.websocket({}, [](websocket&) -> task<void> { co_return; });
      static_cast<void>(co_await std::move(opened));
    });
    routes.get("/events", [](http_exchange& x) -> task<void> {
      auto produce = [](http_events& out) -> task<void> { static_cast<void>(co_await out.send({.data = "1"})); };
      auto stream = x.events({}, produce);
      static_cast<void>(co_await std::move(stream));
    });
  }

  http_router routes;
  event go_on;
  int begun = 0;
  int pieces = 0;
  result<void> written;
};

auto quiet(http_server::options options = {}) -> http_server::options {
  options.on_error = [](std::exception_ptr) {};
  return options;
}

}  // namespace

TEST_CASE("one port serves HTTP/1.1 and HTTP/2 with the same routes") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(get_frame(1, "/"));
  CHECK(client.hears(1) == "200 hello");
  CHECK(client.answer(1).field("content-length") == "5");
  CHECK(client.answer(1).field("content-type") == "text/plain");
  CHECK(client.answer(1).field("date").ends_with(" GMT"));
  CHECK(client.settings().at(3) == 100);
  CHECK(client.settings().at(4) == 64 * 1024);
  CHECK(client.settings().at(6) == 16 * 1024);
  CHECK(scene.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("hello"));
  CHECK(scene.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok").ends_with("ok"));
  CHECK(scene.server().counts().http2 == 1);
  CHECK(scene.server().counts().requests == 3);
}

TEST_CASE("the preface may arrive byte by byte") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  const auto client = scene.talker();
  const std::string all_bytes = std::string(http2_preface) + frame(frame_type::settings, 0, 0, {}) + get_frame(1, "/");
  for (const char each : all_bytes) client->say(std::string(1, each));
  CHECK(client->hears("hello"));
}

TEST_CASE("a handler sees the head that the request would have in HTTP/1.1") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(get_frame(1, "/head/7?a=b", {{"cookie", "a=1"}, {"x-one", "1"}, {"cookie", "b=2"}}));
  CHECK(client.hears(1) == "200 /head/7?a=b 7 a=b localhost|host=localhost|x-one=1|cookie=a=1; b=2");
}

TEST_CASE("the server answers without a handler as in HTTP/1.1") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, quiet());
  http2_peer client(scene);
  client.say(get_frame(1, "/missing"));
  CHECK(client.hears(1) == "404 Not Found\n");
  client.say(get_frame(3, "/echo"));
  CHECK(client.hears(3) == "405 Method Not Allowed\n");
  CHECK(client.answer(3).field("allow") == "POST");
  client.say(get_frame(5, "/throw"));
  CHECK(client.hears(5) == "500 Internal Server Error\n");
  client.say(frame(frame_type::headers, flag_end_headers | flag_end_stream, 7, request_block("HEAD", "/")));
  CHECK(client.hears(7) == "200");
  CHECK(client.answer(7).field("content-length") == "5");
  client.say(frame(frame_type::headers, flag_end_headers | flag_end_stream, 9, request_block("BREW", "/")));
  CHECK(client.hears(9) == "501 Not Implemented\n");
  client.say(get_frame(11, "/a b"));
  CHECK(client.hears(11) == "nothing reset 1");  // libnghttp2 refuses it
  client.say(get_frame(13, "/", {{"host", "other"}}));
  CHECK(client.hears(13).starts_with("400"));
  client.say(get_frame(15, "/upgrade"));
  CHECK(client.hears(15) == "204");
  CHECK(client.answer(15).field("upgrade").empty());
  CHECK(client.answer(15).field("x-own") == "Value");
  CHECK(scene.server().counts().failed == 1);
}

TEST_CASE("bodies arrive in frames, with or without a length, and with trailers") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(post_frame(1, "/echo", {{"content-length", "6"}}) + data_frame(1, "abc", 0));
  client.say(data_frame(1, "def"));
  CHECK(client.hears(1) == "200 abcdef");
  client.say(post_frame(3, "/now") + data_frame(3, "at once"));
  CHECK(client.hears(3) == "200 at once");
  client.say(post_frame(5, "/echo") + data_frame(5, "x", 0) +
             frame(frame_type::headers, flag_end_headers | flag_end_stream, 5, literal("sum", "1")));
  CHECK(client.hears(5) == "200 x|sum=1");
  client.say(post_frame(7, "/echo") + data_frame(7, "x", 0) +
             frame(frame_type::headers, flag_end_headers | flag_end_stream, 7, literal("authorization", "b")));
  CHECK(client.hears(7).starts_with("400"));
  client.say(frame(frame_type::headers, flag_end_headers | flag_end_stream, 9, request_block("POST", "/echo")));
  CHECK(client.hears(9) == "200");
}

TEST_CASE("requests of one connection run at the same time, and are answered in any order") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(post_frame(1, "/wait") + data_frame(1, "first") + post_frame(3, "/wait") + data_frame(3, "second") +
             get_frame(5, "/"));
  CHECK(client.hears(5) == "200 hello");
  CHECK(all.begun == 2);
  CHECK(client.answer(1).heads.empty());
  all.go_on.set();
  CHECK(client.hears(3) == "200 second");
  CHECK(client.hears(1) == "200 first");
}

TEST_CASE("a handler that writes waits for the window of its stream") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene, setting(4, 6));
  client.say(get_frame(1, "/pieces"));
  CHECK(scene.here.run_until([&] { return client.answer(1).body == "one tw"; }));
  CHECK(all.pieces == 1);
  client.say(window_frame(1, 300));
  CHECK(client.hears(1) == "200 one two three");
  CHECK(all.pieces == 3);
}

TEST_CASE("a body that is not read does not give its window back") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, {.http2 = {.stream_window = 100, .connection_window = 70'000}});
  http2_peer client(scene);
  client.say(post_frame(1, "/wait") + data_frame(1, std::string(100, 'x'), 0));
  REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
  scene.here.run_once();
  CHECK(client.settings().at(4) == 100);
  CHECK(client.window(1) == 0);
  client.say(get_frame(3, "/"));
  CHECK(client.hears(3) == "200 hello");
  CHECK(client.window(1) == 0);
  all.go_on.set();
  CHECK(client.hears(1) == "200 " + std::string(100, 'x'));
  // What exceeds the window of a stream ends that stream.
  client.say(post_frame(5, "/echo") + data_frame(5, std::string(101, 'x'), 0));
  CHECK(client.hears(5).ends_with("reset 3"));
}

TEST_CASE("a body that is read gives its window back") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, {.http2 = {.stream_window = 100}});
  http2_peer client(scene);
  client.say(post_frame(1, "/echo") + data_frame(1, std::string(100, 'x'), 0));
  REQUIRE(scene.here.run_until([&] { return client.window(1) == 100; }));
  client.say(data_frame(1, "y"));
  CHECK(client.hears(1) == "200 " + std::string(100, 'x') + "y");
}

TEST_CASE("a body that is too large is refused by its length, or once it exceeds the limit") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, {.limits = {.body_bytes = 10}});
  http2_peer client(scene);
  client.say(post_frame(1, "/echo", {{"content-length", "11"}}));
  CHECK(client.hears(1) == "413 Content Too Large\n");
  CHECK(scene.here.run_until([&] { return client.answer(1).reset == 0U; }));
  client.say(post_frame(3, "/echo") + data_frame(3, "12345", 0));
  client.say(data_frame(3, "678901", 0));
  CHECK(client.hears(3) == "413 Content Too Large\n");
  client.say(get_frame(5, "/"));
  CHECK(client.hears(5) == "200 hello");
}

TEST_CASE("a client that waits for leave to send a body gets 100") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(post_frame(1, "/echo", {{"expect", "100-continue"}}));
  CHECK(scene.here.run_until([&] { return client.answer(1).field(":status") == "100"; }));
  client.say(data_frame(1, "body"));
  CHECK(client.hears(1) == "200 body");
}

TEST_CASE("each deadline of HTTP/1.1 holds for its stream") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, quiet({.body_timeout = 5s, .write_timeout = 5s}));
  http2_peer client(scene, setting(4, 3));
  client.say(post_frame(1, "/echo") + get_frame(3, "/late") + get_frame(5, "/pieces") + get_frame(7, "/"));
  scene.here.run_once();
  scene.here.advance(2s);
  CHECK(client.answer(3).field(":status") == "503");
  CHECK(client.answer(1).heads.empty());
  scene.here.advance(4s);
  CHECK(client.answer(1).field(":status") == "408");
  CHECK(client.hears(5) == "200 one reset 8");  // the piece was cut
  CHECK(all.written.error() == std::errc::timed_out);
  CHECK(client.hears(7) == "200 hel reset 8");
  CHECK(scene.server().counts().timeouts == 3);
  client.say(window_frame(3, 1000));
  CHECK(client.hears(3) == "503 Service Unavailable\n");
}

TEST_CASE("a client that has gone does not stop its handler, whose writes fail") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, quiet());
  http2_peer client(scene, setting(4, 3));
  client.say(get_frame(1, "/pieces") + post_frame(3, "/wait"));
  REQUIRE(scene.here.run_until([&] { return client.answer(1).body == "one"; }));
  client.say(frame(frame_type::rst_stream, 0, 1, number32(8)) + frame(frame_type::rst_stream, 0, 3, number32(8)));
  CHECK(scene.here.run_until([&] { return !all.written.has_value(); }));
  CHECK(all.written.error() == std::errc::connection_reset);
  all.go_on.set();
  client.say(get_frame(5, "/upgrade"));
  CHECK(client.hears(5) == "204");
}

TEST_CASE("an answer with a status that cannot be one is a 500 over HTTP/2 as well") {
  if (!can_speak_http2()) return;
  for (const unsigned number : {0U, 99U, 100U, 199U, 1000U}) {
    INFO(number);
    const auto status = static_cast<http_status>(number);
    http_router routes;
    routes.get("/", [&](http_exchange& x) { x.reply(status, "text"); });
    routes.get("/pieces", [&](http_exchange& x) -> task<void> {
      x.begin(status);
      CHECK((co_await x.write("text")).error() == errc::finished);
    });
    http_scene scene(routes, quiet());
    http2_peer client(scene);
    client.say(get_frame(1, "/"));
    CHECK(client.hears(1) == "500");
    client.say(get_frame(3, "/pieces"));
    CHECK(client.hears(3) == "500");
  }
}

TEST_CASE("an answer that is not whole is reset") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, quiet());
  http2_peer client(scene);
  client.say(get_frame(1, "/short"));
  CHECK(client.hears(1) == "nothing reset 2");
  client.say(get_frame(3, "/"));
  CHECK(client.hears(3) == "200 hello");
}

TEST_CASE("streams of events run over HTTP/2, and WebSockets are refused") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, quiet());
  http2_peer client(scene);
  client.say(get_frame(1, "/events"));
  CHECK(client.hears(1) == "200 data: 1\n\n");
  client.say(get_frame(3, "/socket"));
  CHECK(client.hears(3).starts_with("426"));
  CHECK(client.answer(3).field("upgrade").empty());
}

TEST_CASE("a stop answers what has begun, and what was sent before the client knows of it") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer idle(scene);
  idle.say(get_frame(1, "/"));
  REQUIRE(idle.hears(1) == "200 hello");
  http2_peer client(scene);
  client.say(post_frame(1, "/wait") + data_frame(1, "first"));
  REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
  scene.stop(10s);
  CHECK(idle.hears_goaway() == 0U);
  CHECK(idle.hears_end());
  REQUIRE(scene.here.run_until([&] { return client.pings().size() == 1; }));
  CHECK(client.goaway() == 0U);
  client.say(get_frame(3, "/") + frame(frame_type::ping, flag_ack, 0, client.pings()[0]));
  CHECK(client.hears(3) == "200 hello");
  client.say(get_frame(5, "/"));  // nothing is answered any more
  all.go_on.set();
  CHECK(client.hears(1) == "200 first");
  CHECK(client.hears_end());
  CHECK(client.answer(5).heads.empty());
  CHECK(client.frames(frame_type::goaway) == 2);
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(scene.server().counts().open == 0);
  CHECK(scene.server().counts().http2 == 0);
}

TEST_CASE("a connection without requests is closed after a while, with a notice") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes);
  http2_peer client(scene);
  client.say(get_frame(1, "/"));
  REQUIRE(client.hears(1) == "200 hello");
  scene.here.advance(59s);
  client.say(frame(frame_type::ping, 0, 0, "12345678"));  // frames without a request do not extend it
  REQUIRE(scene.here.run_until([&] { return client.pings().size() == 1; }));
  scene.here.advance(2s);
  CHECK(client.hears_goaway() == 0U);
  CHECK(client.hears_end());
  CHECK(scene.server().counts().timeouts == 0);
}

TEST_CASE("a connection that is idle is closed for another one") {
  if (!can_speak_http2()) return;
  http2_routes all;
  http_scene scene(all.routes, {.connections = 1});
  http2_peer client(scene);
  client.say(get_frame(1, "/"));
  REQUIRE(client.hears(1) == "200 hello");
  http2_peer other(scene);
  other.say(get_frame(1, "/"));
  CHECK(client.hears_goaway() == 0U);
  CHECK(other.hears(1) == "200 hello");
}

TEST_CASE("refusals hold back the connection that gets them") {
  if (!can_speak_http2()) return;
  http_router routes;
  routes.get("/", [](http_exchange& x) {
    x.pace();
    x.reply(http_status::service_unavailable);
  });
  http_scene scene(routes, {.pacing = {.share = 1e-9, .max_wait = 1s}});
  http2_peer client(scene);
  client.say(get_frame(1, "/"));
  CHECK(client.hears(1) == "503");
  scene.here.run_once();
  CHECK(scene.server().counts().paced == 1);
  client.say(get_frame(3, "/"));
  CHECK(client.answer(3).heads.empty());
  scene.here.advance(2s);
  CHECK(client.hears(3) == "503");
}

namespace {

/// Connects by TLS with these protocols, sends `text`, and returns what comes back up to `end`, or all of it.
auto ask_over_tls(loop& io, socket_address to, std::vector<std::string> protocols, std::string text, std::string end)
    -> task<std::string> {
  tls_context::client_options options = trusting_client();
  options.protocols = std::move(protocols);
  auto connecting = stream_socket::connect(io, to);
  result<stream_socket> socket = co_await std::move(connecting);
  auto shaking = tls_stream::connect(client_context(options), std::move(*socket), "localhost");
  const result<tls_stream> stream = co_await std::move(shaking);
  if (!stream) co_return stream.error().message();
  std::string heard(stream->protocol());
  auto writing = stream->write_all(text);
  static_cast<void>(co_await std::move(writing));
  std::array<std::byte, 4096> room{};
  while (!heard.contains(end)) {
    auto reading = stream->read_some(room);
    const result<std::size_t> got = co_await std::move(reading);
    if (!got || *got == 0) break;
    heard += text_of(std::span(room).first(*got));
  }
  co_return heard;
}

}  // namespace

TEST_CASE("over TLS a client chooses by ALPN") {
  if (!can_speak_http2()) return;
  http2_routes all;
  tls_context::server_options identity = known_server();
  identity.protocols = {"h2", "http/1.1"};
  http_scene scene(all.routes, {.tls = server_context(identity)});
  const std::string frames = std::string(http2_preface) + frame(frame_type::settings, 0, 0, {}) + get_frame(1, "/");
  const auto ask = [&](std::vector<std::string> protocols, std::string text) {
    return scene.here
        .run(ask_over_tls(scene.here.io(), scene.address(), std::move(protocols), std::move(text), "hello"))
        .take();
  };
  const std::string secure = ask({"http/1.1", "h2"}, frames);
  CHECK(secure.starts_with("h2"));
  CHECK(secure.ends_with("hello"));
  CHECK(scene.server().counts().http2 == 1);
  const std::string old = ask({"http/1.1"}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(old.starts_with("http/1.1HTTP/1.1 200"));
  CHECK(old.ends_with("hello"));
  // Without ALPN it is HTTP/1.1, whatever the first bytes are.
  CHECK(ask({}, frames).starts_with("HTTP/1.1 505"));
}

TEST_CASE("a server without HTTP/2 ends a connection whose client has chosen it") {
  if (!can_speak_http2()) return;
  http2_routes all;
  tls_context::server_options identity = known_server();
  identity.protocols = {"h2"};
  http_scene scene(all.routes, {.tls = server_context(identity), .http2 = {.enabled = false}});
  CHECK(scene.here.run(ask_over_tls(scene.here.io(), scene.address(), {"h2"}, "x", "hello")).take() == "h2");
  CHECK(scene.server().counts().failed_handshakes == 1);
}

TEST_CASE("HTTP/2 can be switched off") {
  http2_routes all;
  http_scene scene(all.routes, {.http2 = {.enabled = false}});
  CHECK(statuses_of(scene.exchange(http2_preface)) == "505");
}

TEST_CASE("the type of a request is known although its head or body is too large") {
  if (!can_speak_http2()) return;
  http_router routes;
  routes.post("/", [](http_exchange& x) { x.reply(http_status::ok); });
  http_server::options options{.limits = {.head_bytes = 500, .body_bytes = 10}};
  options.format_refusal = [](const http_server::refusal& refusal) -> http_server::refusal_text {
    return {.body = std::to_string(static_cast<int>(refusal.status)) + " " + std::string(refusal.content_type),
            .status = http_status::ok};
  };
  http_scene scene(routes, std::move(options));
  http2_peer peer(scene);
  const std::pair<std::string, std::string> type("content-type", "a/b");
  const std::pair<std::string, std::string> large("x", std::string(500, 'y'));
  const std::vector<std::pair<http2_fields, std::string>> rows{{{type, large}, "200 431 a/b"},
                                                               {{large, type}, "200 431 a/b"},
                                                               {{large}, "200 431 "},
                                                               {{type, {"content-length", "11"}}, "200 413 a/b"},
                                                               {{type, {"expect", "tea"}}, "200 417 a/b"}};
  std::uint32_t stream = 1;
  for (const auto& [fields, expected] : rows) {
    peer.say(post_frame(stream, "/", fields));
    CHECK(peer.hears(stream) == expected);
    stream += 2;
  }
}

#endif
