// tests/net/http2_abuse_test.cpp: clients of HTTP/2 that try to cost more than they should: docs/http2.md, "Abuse".
#include <braid/net/http_server.hpp>

#include <braid/coro/synchronization.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;
using namespace braid::testing;

namespace {

constexpr std::uint32_t protocol_error = 1;
constexpr std::uint32_t flow_control_error = 3;
constexpr std::uint32_t stream_closed = 5;
constexpr std::uint32_t refused_stream = 7;
constexpr std::uint32_t compression_error = 9;
constexpr std::uint32_t calm_down = 11;

/// A server whose requests to `/wait` run until they are told to go on.
struct abused_server {
  explicit abused_server(http_server::options options = {}) : scene((add_routes(), routes), std::move(options)) {}

  void add_routes() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.get("/large", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", std::string(100'000, 'x')); });
    routes.get("/wait", [this](http_exchange& x) -> task<void> {
      most = std::max(most, ++running);
      co_await go_on;
      --running;
      x.reply(http_status::ok);
    });
    routes.get("/answer", [this](http_exchange& x) -> task<void> {
      x.reply(http_status::ok);
      ++running;
      co_await go_on;
      --running;
    });
    routes.post("/read", [](http_exchange& x) -> task<void> {
      if (co_await x.read_all()) x.reply(http_status::ok);
    });
  }

  http_router routes;
  event go_on;
  int running = 0;
  int most = 0;
  http_scene scene;
};

auto repeated(int times, const std::function<std::string(int)>& part) -> std::string {
  std::string out;
  for (int i = 0; i < times; ++i) out += part(i);
  return out;
}

struct flood {
  std::string name;
  std::string frames;
  std::uint32_t code;
};

auto stream_number(int i) -> std::uint32_t { return 2 * static_cast<std::uint32_t>(i) + 1; }

auto floods() -> std::vector<flood> {
  const auto ping = [](int) { return frame(frame_type::ping, 0, 0, "12345678"); };
  const auto settings = [](int) { return frame(frame_type::settings, 0, 0, setting(4, 1000)); };
  const auto reset = [](int i) {
    return get_frame(stream_number(i), "/wait") + frame(frame_type::rst_stream, 0, stream_number(i), number32(8));
  };
  const auto priority = [](int i) { return frame(frame_type::priority, 0, stream_number(i), number32(0) + "x"); };
  const auto empty_data = [](int) { return data_frame(1, {}, 0); };
  const auto padding = [](int) { return frame(frame_type::data, 8, 1, std::string(1, '\x03') + "abc"); };
  const auto small_window = [](int) { return window_frame(1, 1); };
  const auto continuation = [](int) { return frame(frame_type::continuation, 0, 1, literal("x", "y")); };
  const std::string head = frame(frame_type::headers, 0, 1, request_block("GET", "/"));
  // The table of HPACK keeps one large value, which one byte repeats.
  std::string bomb = request_block("GET", "/");
  bomb += '\x40' + literal("x", std::string(3'900, 'y')).substr(1);
  bomb += std::string(10'000, '\xbe');
  return {
      {"pings", repeated(1'000, ping), calm_down},
      {"settings", repeated(1'000, settings), calm_down},
      {"rapid reset", repeated(1'000, reset), calm_down},
      {"priorities", repeated(1'000, priority), calm_down},
      {"empty frames of data", post_frame(1, "/read") + repeated(1'000, empty_data), calm_down},
      {"frames of padding", post_frame(1, "/read") + repeated(1'000, padding), calm_down},
      {"small updates of a window", get_frame(1, "/wait") + repeated(1'000, small_window), calm_down},
      {"CONTINUATION without an end", head + repeated(1'000, continuation), calm_down},
      {"a head that unfolds", frame(frame_type::headers, flag_end_headers | flag_end_stream, 1, bomb), calm_down},
      {"a head that cannot be decoded", frame(frame_type::headers, flag_end_headers, 1, "\xff\xff\xff\xff\xff\xff"),
       compression_error},
      {"a window that overflows", window_frame(0, 0x7fff'ffff) + window_frame(0, 0x7fff'ffff), flow_control_error},
      {"a stream of the server's", get_frame(2, "/"), protocol_error},
      {"a number that goes back", get_frame(5, "/") + get_frame(3, "/"), protocol_error},
      {"a fault while a handler reads", post_frame(1, "/read") + frame(frame_type::ping, 0, 1, "12345678"),
       protocol_error},
      {"data after a reset", get_frame(1, "/") + frame(frame_type::rst_stream, 0, 1, number32(8)) + data_frame(1, "x"),
       stream_closed},
      {"data for no stream", data_frame(1, "x"), protocol_error},
  };
}

}  // namespace

TEST_CASE("a client that floods the server is told so and cut, and others do not notice") {
  if (!can_speak_http2()) return;
  for (const flood& each : floods()) {
    CAPTURE(each.name);
    abused_server server;
    http2_peer good(server.scene);
    http2_peer bad(server.scene);
    bad.say(each.frames);
    const auto code = bad.hears_goaway();
    REQUIRE(code.has_value());
    const bool is_continuation = each.name.starts_with("CONTINUATION");
    if (is_continuation)  // libnghttp2 counts these, if it is new enough; otherwise they exceed the head
      CHECK((*code == each.code || *code == protocol_error || *code == 2));
    else
      CHECK(*code == each.code);
    server.go_on.set();
    CHECK(bad.hears_end());
    CHECK(server.most <= 100);
    CHECK(server.scene.server().counts().refused == 1);
    good.say(get_frame(1, "/"));
    CHECK(good.hears(1) == "200 hello");
    CHECK(server.scene.here.run_until([&] { return server.scene.server().counts().open == 1; }));
  }
}

TEST_CASE("streams beyond the limit are refused, also if the client has given up the others") {
  if (!can_speak_http2()) return;
  abused_server server({.http2 = {.streams = 3}});
  http2_peer client(server.scene);
  client.say(repeated(3, [](int i) { return get_frame(stream_number(i), "/wait"); }));
  REQUIRE(server.scene.here.run_until([&] { return server.running == 3; }));
  client.say(frame(frame_type::rst_stream, 0, 1, number32(8)) + get_frame(7, "/wait"));
  CHECK(client.hears(7) == "nothing reset " + std::to_string(refused_stream));
  CHECK(server.most == 3);
  server.go_on.set();
  REQUIRE(server.scene.here.run_until([&] { return server.running == 0; }));
  client.say(get_frame(9, "/wait"));
  CHECK(client.hears(9) == "200");
}

TEST_CASE("a stream may begin when an answer has ended, and twice as many handlers may run") {
  if (!can_speak_http2()) return;
  abused_server server({.http2 = {.streams = 2}});
  http2_peer client(server.scene);
  for (int i = 0; i < 4; ++i) {
    client.say(get_frame(stream_number(i), "/answer"));
    CHECK(client.hears(stream_number(i)) == "200");
  }
  CHECK(server.running == 4);
  client.say(get_frame(9, "/answer"));
  CHECK(client.hears(9) == "nothing reset " + std::to_string(refused_stream));
  server.go_on.set();
  REQUIRE(server.scene.here.run_until([&] { return server.running == 0; }));
  client.say(get_frame(11, "/"));
  CHECK(client.hears(11) == "200 hello");
}

TEST_CASE("a client that sends two small updates of windows and a ping for each request is served") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene);
  for (int i = 0; i < 1'000; ++i) {
    client.say(get_frame(stream_number(i), "/") + window_frame(stream_number(i), 5) + window_frame(0, 5) +
               frame(frame_type::ping, 0, 0, "12345678"));
    REQUIRE(client.hears(stream_number(i)) == "200 hello");
  }
}

TEST_CASE("a client that resets now and then, and asks much, is served") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene);
  for (int i = 0; i < 1'000; ++i) {
    client.say(get_frame(stream_number(i), "/") + frame(frame_type::ping, 0, 0, "12345678"));
    REQUIRE(client.hears(stream_number(i)) == "200 hello");
  }
  // Time refills the account as well.
  client.say(repeated(390, [](int) { return frame(frame_type::ping, 0, 0, "12345678"); }));
  server.scene.here.advance(4s);
  client.say(repeated(390, [](int) { return frame(frame_type::ping, 0, 0, "12345678"); }));
  client.say(get_frame(3'001, "/"));
  CHECK(client.hears(3'001) == "200 hello");
}

TEST_CASE("a client may leave numbers of streams out, and send trailers for one that was reset") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene);
  const auto trailers = [](std::uint32_t stream) {
    return frame(frame_type::headers, flag_end_headers | flag_end_stream, stream, literal("sum", "1"));
  };
  client.say(post_frame(1, "/missing") + data_frame(1, "x", 0));
  REQUIRE(client.hears(1).starts_with("404"));
  for (const std::uint32_t next : {9U, 2'047U, 2'049U, 5'001U, 20'001U}) {
    client.say(get_frame(next, "/") + (next == 9 ? trailers(1) : std::string()));
    CHECK(client.hears(next) == "200 hello");
  }
  client.say(get_frame(19'999, "/"));
  CHECK(client.hears_goaway() == protocol_error);
}

TEST_CASE("a head that is too large is answered with 431, and others go on") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene);
  const std::string block = request_block("GET", "/") + literal("x", std::string(12'000, 'y'));
  client.say(frame(frame_type::headers, flag_end_stream, 1, block) +
             frame(frame_type::continuation, flag_end_headers, 1, literal("z", std::string(12'000, 'y'))));
  CHECK(client.hears(1) == "431 Request Header Fields Too Large\n");
  http2_fields many;
  for (int i = 0; i < 101; ++i) many.emplace_back("f", "1");
  client.say(get_frame(3, "/", many));
  CHECK(client.hears(3) == "431 Request Header Fields Too Large\n");
  client.say(get_frame(5, "/" + std::string(9'000, 'y')));
  CHECK(client.hears(5) == "414 URI Too Long\n");
  client.say(get_frame(7, "/"));
  CHECK(client.hears(7) == "200 hello");
  CHECK(server.scene.server().counts().refused == 3);
}

TEST_CASE("an answer whose window stays tiny ends at the deadline of a write") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene, setting(4, 1));
  client.say(get_frame(1, "/large"));
  REQUIRE(server.scene.here.run_until([&] { return client.answer(1).body.size() == 1; }));
  for (int i = 0; i < 9; ++i) {
    server.scene.here.advance(3s);
    client.say(window_frame(1, 1));
  }
  CHECK_FALSE(client.answer(1).reset.has_value());
  server.scene.here.advance(4s);
  CHECK(server.scene.here.run_until([&] { return client.answer(1).reset == 8U; }));
  CHECK(client.answer(1).body.size() == 10);
}

TEST_CASE("a client that does not read its answers is cut") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene, setting(4, 0x7fff'ffff));
  client.talker().be_deaf();
  client.say(window_frame(0, 0x7fff'0000) + repeated(90, [](int i) { return get_frame(stream_number(i), "/large"); }));
  server.scene.here.run_once(100);
  server.scene.here.advance(31s);
  CHECK(server.scene.here.run_until([&] { return server.scene.server().counts().open == 0; }));
  CHECK(server.scene.server().counts().timeouts > 0);
}

TEST_CASE("a head that is not completed ends the connection, and what runs is answered") {
  if (!can_speak_http2()) return;
  abused_server server;
  http2_peer client(server.scene);
  client.say(get_frame(1, "/wait") + frame(frame_type::headers, 0, 3, request_block("GET", "/")));
  REQUIRE(server.scene.here.run_until([&] { return server.running == 1; }));
  server.scene.here.advance(11s);
  CHECK(client.hears_goaway() == 0U);
  server.go_on.set();
  CHECK(client.hears(1) == "200");
  CHECK(client.hears_end());
  CHECK(client.answer(3).heads.empty());
  CHECK(server.scene.server().counts().timeouts == 1);
}

TEST_CASE("a client that never begins to speak is cut") {
  if (!can_speak_http2()) return;
  abused_server server;
  const auto half = server.scene.talker();
  half->say(http2_preface.substr(0, 10));
  const auto silent = server.scene.talker();
  silent->say(http2_preface);
  server.scene.here.advance(11s);
  CHECK(half->hears_end());
  CHECK(statuses_of(half->heard()) == "408");
  CHECK(silent->hears_end());
  CHECK(server.scene.server().counts().timeouts == 2);
}

#endif
