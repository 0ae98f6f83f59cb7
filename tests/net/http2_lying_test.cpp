// tests/net/http2_lying_test.cpp: a client of HTTP/2 and servers that refuse, vanish, lie, or try to cost too much:
// docs/http2.md, "Abuse".
#include <braid/net/http_client.hpp>

#include <braid/coro/with_scope.hpp>

#include <tests/support/http2_script.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
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

constexpr std::uint32_t no_error = 0;
constexpr std::uint32_t protocol_error = 1;
constexpr std::uint32_t flow_control_error = 3;
constexpr std::uint32_t frame_size_error = 6;
constexpr std::uint32_t refused = 7;
constexpr std::uint32_t cancelled = 8;
constexpr std::uint32_t compression_error = 9;
constexpr std::uint32_t calm_down = 11;

auto is_request(const heard_frame& frame) -> bool { return frame.type == frame_type::headers; }

auto hello(std::uint32_t stream) -> std::string { return answer_frame(stream, "200") + data_frame(stream, "hello"); }

auto repeated(int times, const std::function<std::string(int)>& part) -> std::string {
  std::string out;
  for (int i = 0; i < times; ++i) out += part(i);
  return out;
}

/// A client, and a server that answers each frame by a function.
struct lying_scene {
  explicit lying_scene(http2_script::reply_fn reply, http_client::options options = {}, std::string_view settings = {})
      : client(here.io(), knowing_http2(std::move(options))), server(here, std::move(reply), settings) {}

  /// Answers requests only.
  static auto to_requests(std::function<std::string(http2_script&, const heard_frame&)> reply)
      -> http2_script::reply_fn {
    return [reply = std::move(reply)](http2_script& server, const heard_frame& frame) {
      return is_request(frame) ? reply(server, frame) : std::string();
    };
  }

  auto begin(http_client::call call = {}) -> begun_call {
    call.url = server.url();
    return {here, client, std::move(call)};
  }
  /// Returns how a call ends.
  auto ends(http_client::call call = {}) -> std::string {
    const begun_call begun = begin(std::move(call));
    static_cast<void>(here.run_until([&] { return begun.is_over(); }));
    return begun.text();
  }

  test_loop here;
  http_client client;
  http2_script server;
};

auto message(http_errc code) -> std::string { return make_error_code(code).message(); }

/// Returns how a call ends that is answered with these frames on stream 1.
auto ends_with(std::string frames, http_client::options options = {}) -> std::string {
  lying_scene scene(lying_scene::to_requests([&](http2_script&, const heard_frame&) { return frames; }),
                    std::move(options));
  return scene.ends();
}

}  // namespace

TEST_CASE("a call of HTTP/2 has the head that the server expects") {
  if (!can_speak_http2()) return;
  lying_scene scene(
      lying_scene::to_requests([](http2_script&, const heard_frame& frame) { return hello(frame.stream); }));
  const http_client::call call{.method = http_method::put,
                               .url = {},
                               .fields = {{"X-Own", "Value"}, {"TE", "gzip"}, {"Upgrade", "h3"}, {"Cookie", "a=1"}},
                               .body = "body"};
  CHECK(scene.ends(call) == "200 hello");
  field_decoder decoder;
  const http2_fields fields = decoder.decode(scene.server.last(frame_type::headers)->payload);
  const std::string host = scene.server.url().substr(7, scene.server.url().size() - 8);
  CHECK(fields == http2_fields{{":method", "PUT"},
                               {":scheme", "http"},
                               {":authority", host},
                               {":path", "/"},
                               {"content-length", "4"},
                               {"x-own", "Value"},
                               {"cookie", "a=1"}});
  CHECK(scene.server.hears(frame_type::data));
  CHECK(scene.server.last(frame_type::data)->payload == "body");
  CHECK(scene.ends({.url = {}, .fields = {{"te", "trailers"}}}) == "200 hello");
  CHECK(decoder.decode(scene.server.last(frame_type::headers)->payload).back() ==
        std::pair<std::string, std::string>("te", "trailers"));
}

TEST_CASE("informational answers are skipped, up to a number") {
  if (!can_speak_http2()) return;
  const auto early = [](int) { return answer_frame(1, "103", 0, {{"link", "x"}}); };
  CHECK(ends_with(repeated(8, early) + hello(1)) == "200 hello");
  CHECK(ends_with(repeated(9, early) + hello(1)) == message(http_errc::too_many_responses));
}

TEST_CASE("trailers follow the body") {
  if (!can_speak_http2()) return;
  const std::string begin = answer_frame(1, "200") + data_frame(1, "hello", 0);
  const auto trailers = [](const http2_fields& fields) {
    std::string block;
    for (const auto& [name, value] : fields) block += literal(name, value);
    return frame(frame_type::headers, flag_end_headers | flag_end_stream, 1, block);
  };
  {
    lying_scene scene(lying_scene::to_requests(
        [&](http2_script&, const heard_frame&) { return begin + trailers({{"grpc-status", "0"}, {"x", "y"}}); }));
    auto opening = scene.client.open({.url = scene.server.url()});
    auto opened = scene.here.run(std::move(opening)).take();
    REQUIRE(opened.has_value());
    for (bool is_over = false; !is_over;) {
      auto reading = opened->read_some();
      is_over = scene.here.run(std::move(reading)).take().value().empty();
    }
    CHECK(opened->trailers().size() == 2);
    CHECK(opened->trailers().find("Grpc-Status") == "0");
  }
  CHECK(ends_with(begin + trailers({{"authorization", "b"}})) == message(http_errc::forbidden_trailer));
  const std::string large = literal("x", std::string(9'000, 'y'));
  CHECK(ends_with(begin + frame(frame_type::headers, flag_end_stream, 1, large) +
                  frame(frame_type::continuation, flag_end_headers, 1, large)) ==
        message(http_errc::trailers_too_large));
}

TEST_CASE("an answer may be larger than no limit of the client") {
  if (!can_speak_http2()) return;
  const http_client::options small{.limits = {.head_bytes = 1'000, .fields = 5, .body_bytes = 10}};
  CHECK(ends_with(answer_frame(1, "200") + data_frame(1, "0123456789"), small) == "200 0123456789");
  CHECK(ends_with(answer_frame(1, "200") + data_frame(1, "01234567890"), small) == message(http_errc::body_too_large));
  CHECK(ends_with(answer_frame(1, "200", 0, {{"content-length", "11"}}), small) == message(http_errc::body_too_large));
  CHECK(ends_with(answer_frame(1, "200", flag_end_stream, {{"x", std::string(1'100, 'y')}}), small) ==
        message(http_errc::head_too_large));
  const http2_fields many{{"a", "1"}, {"a", "1"}, {"a", "1"}, {"a", "1"}, {"a", "1"}, {"a", "1"}};
  CHECK(ends_with(answer_frame(1, "200", flag_end_stream, many), small) == message(http_errc::too_many_fields));
}

TEST_CASE("a call that the server has not processed is sent again, whatever its method") {
  if (!can_speak_http2()) return;
  int left = 0;
  lying_scene scene(lying_scene::to_requests([&](http2_script&, const heard_frame& frame) {
    return left-- > 0 ? reset_frame(frame.stream, refused) : hello(frame.stream);
  }));
  left = 1;
  CHECK(scene.ends({.method = http_method::post, .url = {}, .body = "once"}) == "200 hello");
  CHECK(scene.server.count(frame_type::headers) == 2);
  const std::string refusal = message(http_errc::refused_stream);
  for (const int refusals : {4, 5}) {
    left = refusals;
    const begun_call call = scene.begin();
    const std::ptrdiff_t before = scene.server.count(frame_type::headers);
    const std::array<duration, 4> pauses{0ms, 10ms, 100ms, 1s};
    for (std::size_t i = 1; i < pauses.size(); ++i) {
      // The first two attempts follow each other at once.
      REQUIRE(scene.here.run_until([&] { return left == refusals - 1 - static_cast<int>(i); }));
      scene.here.run_once(20);
      CHECK(left == refusals - 1 - static_cast<int>(i));
      scene.here.advance(pauses[i] + 5ms);  // timers are coarse
    }
    CHECK(scene.here.run_until([&] { return call.is_over(); }));
    CHECK(call.text() == (refusals == 4 ? "200 hello" : refusal));
    CHECK(scene.server.count(frame_type::headers) <= before + 5);
  }
  CHECK(scene.server.connections() == 1);
  left = 1;
  auto no_pieces = []() -> task<result<std::string>> { co_return std::string(); };
  CHECK(scene.ends({.method = http_method::post, .url = {}, .pieces = no_pieces}) ==
        message(http_errc::refused_stream));
}

TEST_CASE("a stream that the server resets fails its call, and no other") {
  if (!can_speak_http2()) return;
  lying_scene scene(lying_scene::to_requests([](http2_script&, const heard_frame& frame) {
    switch (frame.stream) {
      case 1: return reset_frame(1, cancelled);
      case 3: return answer_frame(3, "200") + data_frame(3, "part", 0) + reset_frame(3, refused);
      // The answer is complete, and the rest of the call is not wanted.
      case 5: return hello(5) + reset_frame(5, no_error);
      default: return hello(frame.stream);
    }
  }));
  CHECK(scene.ends() == message(http_errc::reset_stream));
  CHECK(scene.ends() == message(http_errc::reset_stream));
  int left = 2;
  event never;
  auto pieces = [&]() -> task<result<std::string>> {
    if (left-- == 0) co_await never;
    co_return "piece";
  };
  CHECK(scene.ends({.method = http_method::post, .url = {}, .pieces = pieces}) == "200 hello");
  CHECK(scene.ends() == "200 hello");
  CHECK(scene.server.connections() == 1);
}

TEST_CASE("after GOAWAY, calls that were processed are answered, and the others go to another connection") {
  if (!can_speak_http2()) return;
  lying_scene scene([](http2_script&, const heard_frame& frame) {
    if (!is_request(frame)) return std::string();
    if (frame.connection == 1) return hello(frame.stream);
    return frame.stream == 5 ? goaway_frame(3) : std::string();
  });
  const begun_call first = scene.begin();
  REQUIRE(scene.server.hears(frame_type::headers, 1));
  const begun_call second = scene.begin({.method = http_method::post, .url = {}});
  const begun_call third = scene.begin({.method = http_method::post, .url = {}, .body = "x"});
  CHECK(scene.here.run_until([&] { return third.is_over(); }));
  CHECK(third.text() == "200 hello");
  CHECK_FALSE(first.is_over());
  CHECK(scene.ends() == "200 hello");
  CHECK(scene.server.connections() == 2);
  scene.server.say(hello(1) + hello(3));
  CHECK(scene.here.run_until([&] { return first.is_over() && second.is_over(); }));
  CHECK(first.text() == "200 hello");
  CHECK(second.text() == "200 hello");
  CHECK(scene.here.run_until([&] { return scene.server.ended() == 1; }));
  CHECK(scene.client.idle_connections() == 1);
}

TEST_CASE("a call on a connection that ends is sent again if it was reused and its method may be repeated") {
  if (!can_speak_http2()) return;
  struct row {
    std::string name;
    bool was_used;
    http_method method;
    std::string last_words;
    std::string outcome;
    std::size_t connections;
  };
  const std::string truncated = message(http_errc::truncated);
  const std::vector<row> rows{
      {"reused", true, http_method::get, {}, "200 hello", 2},
      {"reused, but a POST", true, http_method::post, {}, truncated, 1},
      {"new", false, http_method::get, {}, truncated, 1},
      {"reused, but the answer has begun", true, http_method::get, answer_frame(3, "103"), truncated, 1},
      {"a POST that was not processed", true, http_method::post, goaway_frame(1), "200 hello", 2},
      {"new, and not processed", false, http_method::post, goaway_frame(0), "200 hello", 2},
  };
  for (const row& each : rows) {
    CAPTURE(each.name);
    lying_scene scene(lying_scene::to_requests([&](http2_script& server, const heard_frame& frame) {
      if (frame.connection == 1 || (each.was_used && frame.stream == 1)) return hello(frame.stream);
      server.close(frame.connection);
      return each.last_words;
    }));
    if (each.was_used) REQUIRE(scene.ends() == "200 hello");
    CHECK(scene.ends({.method = each.method, .url = {}}) == each.outcome);
    CHECK(scene.server.connections() == each.connections);
  }
}

TEST_CASE("the settings of the server limit the calls at a time, and may change") {
  if (!can_speak_http2()) return;
  lying_scene scene({[](http2_script&, const heard_frame&) { return std::string(); }}, {.connections_per_host = 1},
                    setting(3, 1));
  const begun_call first = scene.begin();
  REQUIRE(scene.server.hears(frame_type::headers, 1));
  scene.here.run_once(20);
  const begun_call second = scene.begin();
  const begun_call third = scene.begin();
  scene.here.run_once(50);
  CHECK(scene.server.count(frame_type::headers) == 1);
  scene.server.say(frame(frame_type::settings, 0, 0, setting(3, 2)));
  CHECK(scene.server.hears(frame_type::headers, 2));
  scene.here.run_once(50);
  CHECK(scene.server.count(frame_type::headers) == 2);
  scene.server.say(hello(1));
  CHECK(scene.server.hears(frame_type::headers, 3));
  scene.server.say(hello(3) + hello(5));
  CHECK(scene.here.run_until([&] { return first.is_over() && second.is_over() && third.is_over(); }));
}

TEST_CASE("windows open when a call has read, and not before") {
  if (!can_speak_http2()) return;
  lying_scene scene(lying_scene::to_requests([](http2_script&, const heard_frame& frame) {
                      return answer_frame(frame.stream, "200") + data_frame(frame.stream, std::string(10'000, 'x'), 0);
                    }),
                    {.http2 = {.stream_window = 10'000, .connection_window = 70'000}});
  auto opening = scene.client.open({.url = scene.server.url()});
  auto opened = scene.here.run(std::move(opening)).take();
  REQUIRE(opened.has_value());
  scene.here.run_once(50);
  const std::ptrdiff_t before = scene.server.count(frame_type::window_update);  // of the connection, at its beginning
  auto reading = opened->read_some();
  CHECK(scene.here.run(std::move(reading)).take().value().size() == 10'000);
  CHECK(scene.server.hears(frame_type::window_update, before + 1));
  CHECK(scene.server.last(frame_type::window_update)->stream == 1);
  CHECK(scene.server.last(frame_type::window_update)->number() == 10'000);
}

TEST_CASE("bytes that no call reads any more do not use up the window of the connection") {
  if (!can_speak_http2()) return;
  lying_scene scene(lying_scene::to_requests([](http2_script&, const heard_frame& frame) {
                      return answer_frame(frame.stream, "200") + data_frame(frame.stream, std::string(16'000, 'x'), 0);
                    }),
                    {.http2 = {.connection_window = 65'535}});
  for (int i = 0; i < 8; ++i) {
    auto opening = scene.client.open({.url = scene.server.url()});
    auto opened = scene.here.run(std::move(opening)).take();
    REQUIRE(opened.has_value());
    scene.here.run_once(20);
  }
  std::uint32_t opened_again = 0;
  for (const heard_frame& each : scene.server.heard())
    if (each.type == frame_type::window_update && each.stream == 0) opened_again += each.number();
  CHECK(opened_again >= 64'000);
}

TEST_CASE("a call that is stopped resets its stream, and asks whether the server is alive") {
  if (!can_speak_http2()) return;
  lying_scene scene([](http2_script&, const heard_frame&) { return std::string(); }, {.connections_per_host = 1});
  auto limited = with_timeout(1s, scene.client.get(scene.server.url()));
  CHECK(scene.here.run_through(std::move(limited), 100ms).take().error() == errc::deadline_exceeded);
  CHECK(scene.server.hears(frame_type::rst_stream));
  CHECK(scene.server.last(frame_type::rst_stream)->number() == cancelled);
  CHECK(scene.server.hears(frame_type::ping));
  const begun_call next = scene.begin();
  CHECK(scene.server.hears(frame_type::headers, 2));
  scene.here.advance(16s);  // the server is not
  CHECK(scene.here.run_until([&] { return next.is_over(); }));
  CHECK(next.text() == std::make_error_code(std::errc::timed_out).message());
}

TEST_CASE("a silent server is asked by a ping, and its connection ends if no answer arrives") {
  if (!can_speak_http2()) return;
  bool answers = true;
  lying_scene scene(
      [&](http2_script&, const heard_frame& frame) {
        const bool is_ping = frame.type == frame_type::ping;
        return is_ping && answers ? braid::testing::frame(frame_type::ping, flag_ack, 0, frame.payload) : std::string();
      },
      {.http2 = {.ping_interval = 10s}});
  const begun_call call = scene.begin();
  REQUIRE(scene.server.hears(frame_type::headers));
  scene.here.advance(9s);
  CHECK(scene.server.count(frame_type::ping) == 0);
  for (int i = 1; i <= 3; ++i) {
    scene.here.advance(11s);
    CHECK(scene.server.hears(frame_type::ping, i));
    scene.here.run_once(20);
    CHECK_FALSE(call.is_over());
  }
  answers = false;
  scene.here.advance(11s);
  CHECK(scene.server.hears(frame_type::ping, 4));
  scene.here.advance(9s);
  CHECK_FALSE(call.is_over());
  scene.here.advance(2s);
  CHECK(scene.here.run_until([&] { return call.is_over() && scene.server.ended() == 1; }));
  CHECK(call.text() == std::make_error_code(std::errc::timed_out).message());
}

TEST_CASE("a head that never ends does not keep a connection alive") {
  if (!can_speak_http2()) return;
  lying_scene scene(lying_scene::to_requests(
      [](http2_script&, const heard_frame&) { return frame(frame_type::headers, 0, 1, literal(":status", "200")); }));
  const begun_call call = scene.begin();
  REQUIRE(scene.server.hears(frame_type::headers));
  scene.here.advance(16s);
  REQUIRE(scene.server.hears(frame_type::ping));
  scene.here.advance(16s);
  CHECK(scene.here.run_until([&] { return call.is_over(); }));
  CHECK(call.text() == std::make_error_code(std::errc::timed_out).message());
}

namespace {

struct lie {
  std::string name;
  std::string frames;
  std::uint32_t code;
};

/// Lies that end the connection.
auto connection_lies() -> std::vector<lie> {
  const auto ping = [](int) { return frame(frame_type::ping, 0, 0, "12345678"); };
  const auto pong = [](int) { return frame(frame_type::ping, flag_ack, 0, "12345678"); };
  const auto settings = [](int) { return frame(frame_type::settings, 0, 0, setting(4, 1000)); };
  const auto empty = [](int) { return data_frame(1, {}, 0); };
  const auto padding = [](int) { return frame(frame_type::data, 8, 1, std::string(1, '\x03') + "abc"); };
  const auto reset = [](int) { return reset_frame(1, cancelled); };
  const auto priority = [](int) { return frame(frame_type::priority, 0, 1, number32(0) + "x"); };
  const auto small_window = [](int) { return window_frame(1, 1); };
  const auto continuation = [](int) { return frame(frame_type::continuation, 0, 1, literal("x", "y")); };
  const std::string head = answer_frame(1, "200");
  // The table of HPACK keeps one large value, which one byte repeats.
  std::string bomb = literal(":status", "200");
  bomb += '\x40' + literal("x", std::string(3'900, 'y')).substr(1);
  bomb += std::string(10'000, '\xbe');
  return {
      {"pings", repeated(1'000, ping), calm_down},
      {"answers to no ping", repeated(1'000, pong), calm_down},
      {"settings", repeated(1'000, settings), calm_down},
      {"empty frames of data", head + repeated(1'000, empty), calm_down},
      {"frames of padding", head + repeated(1'000, padding), calm_down},
      {"resets of a stream that has ended", repeated(1'000, reset), calm_down},
      {"priorities", repeated(1'000, priority), calm_down},
      {"small updates of a window", repeated(1'000, small_window), calm_down},
      {"CONTINUATION without an end",
       frame(frame_type::headers, 0, 1, literal(":status", "200")) + repeated(1'000, continuation), calm_down},
      {"a head that unfolds", frame(frame_type::headers, flag_end_headers, 1, bomb), calm_down},
      {"a head that cannot be decoded", frame(frame_type::headers, flag_end_headers, 1, "\xff\xff\xff\xff\xff\xff"),
       compression_error},
      {"a window that overflows", window_frame(0, 0x7fff'ffff), flow_control_error},
      {"a promise", frame(frame_type::push_promise, flag_end_headers, 1, number32(2) + request_block("GET", "/")),
       protocol_error},
      {"an answer on a stream of its own", answer_frame(2, "200"), protocol_error},
      {"an answer to a call that was never sent", answer_frame(9, "200"), protocol_error},
      {"data before the head", data_frame(1, "x"), protocol_error},
      {"data for no stream", data_frame(0, "x"), protocol_error},
      {"a frame that is too large", frame(frame_type::data, 0, 1, std::string(16'385, 'x')), frame_size_error},
      {"a ping of the wrong size", frame(frame_type::ping, 0, 0, "1234"), frame_size_error},
      {"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", frame_size_error},
  };
}

/// Lies that end one stream.
auto stream_lies() -> std::vector<lie> {
  const std::string head = answer_frame(1, "200");
  return {
      {"no status", frame(frame_type::headers, flag_end_headers | flag_end_stream, 1, literal("x", "y")),
       protocol_error},
      {"two statuses",
       frame(frame_type::headers, flag_end_headers | flag_end_stream, 1,
             literal(":status", "200") + literal(":status", "200")),
       protocol_error},
      {"a status that is no number", answer_frame(1, "2x0", flag_end_stream), protocol_error},
      {"a status with a line end", answer_frame(1, "200\r\nx: y", flag_end_stream), protocol_error},
      {"another protocol", answer_frame(1, "101"), protocol_error},
      {"less data than was announced", answer_frame(1, "200", 0, {{"content-length", "9"}}) + data_frame(1, "hello"),
       protocol_error},
      {"more data than was announced", answer_frame(1, "200", 0, {{"content-length", "2"}}) + data_frame(1, "hello"),
       protocol_error},
      {"two lengths", answer_frame(1, "200", 0, {{"content-length", "2"}, {"content-length", "2"}}), protocol_error},
      {"a field of connections", answer_frame(1, "200", 0, {{"connection", "close"}}), protocol_error},
      {"an encoding", answer_frame(1, "200", 0, {{"transfer-encoding", "chunked"}}), protocol_error},
      {"a name in capitals", answer_frame(1, "200", 0, {{"X-Own", "y"}}), protocol_error},
      {"a value with a line end", answer_frame(1, "200", 0, {{"x", "y\r\nz: 1"}}), protocol_error},
      {"a pseudo-field among trailers",
       head + frame(frame_type::headers, flag_end_headers | flag_end_stream, 1, literal(":status", "200")),
       protocol_error},
      {"trailers that end nothing", head + answer_frame(1, "200"), protocol_error},
  };
}

}  // namespace

TEST_CASE("a server that floods the client, or violates the protocol, is told so and left") {
  if (!can_speak_http2()) return;
  for (const lie& each : connection_lies()) {
    CAPTURE(each.name);
    lying_scene scene(lying_scene::to_requests([&](http2_script&, const heard_frame& frame) {
      return frame.connection == 0 ? each.frames : hello(frame.stream);
    }));
    CHECK(scene.ends() == message(each.name.starts_with("resets") ? http_errc::reset_stream : http_errc::bad_frame));
    REQUIRE(scene.server.hears(frame_type::goaway));
    const std::uint32_t code = scene.server.last(frame_type::goaway)->number();
    if (each.name.starts_with("CONTINUATION"))  // libnghttp2 counts these, if it is new enough
      CHECK((code == each.code || code == protocol_error || code == 2));
    else
      CHECK(code == each.code);
    CHECK(scene.here.run_until([&] { return scene.server.ended() == 1; }));
    CHECK(scene.ends() == "200 hello");
    CHECK(scene.server.connections() == 2);
  }
}

TEST_CASE("an answer that violates the protocol fails its call, and no other") {
  if (!can_speak_http2()) return;
  for (const lie& each : stream_lies()) {
    CAPTURE(each.name);
    lying_scene scene(lying_scene::to_requests([&](http2_script&, const heard_frame& frame) {
      return frame.stream == 1 ? each.frames : hello(frame.stream);
    }));
    CHECK(scene.ends() == message(http_errc::bad_frame));
    REQUIRE(scene.server.hears(frame_type::rst_stream));
    CHECK(scene.server.last(frame_type::rst_stream)->number() == each.code);
    CHECK(scene.ends() == "200 hello");
    CHECK(scene.server.connections() == 1);
  }
}

TEST_CASE("data beyond a window ends the stream, or the connection") {
  if (!can_speak_http2()) return;
  for (const bool is_of_stream : {true, false}) {
    CAPTURE(is_of_stream);
    const std::size_t small = 70'000;
    const std::size_t large = 1'000'000;
    const http_client::options options{
        .http2 = {.stream_window = is_of_stream ? small : large, .connection_window = is_of_stream ? large : small}};
    const auto full = [](int) { return data_frame(1, std::string(16'000, 'x'), 0); };
    lying_scene scene(lying_scene::to_requests([&](http2_script&, const heard_frame& frame) {
                        return frame.stream == 1 && frame.connection == 0 ? answer_frame(1, "200") + repeated(5, full)
                                                                          : hello(frame.stream);
                      }),
                      options);
    auto opening = scene.client.open({.url = scene.server.url()});
    auto opened = scene.here.run(std::move(opening)).take();
    REQUIRE(opened.has_value());
    const frame_type said = is_of_stream ? frame_type::rst_stream : frame_type::goaway;
    REQUIRE(scene.server.hears(said));
    CHECK(scene.server.last(said)->number() == flow_control_error);
    result<std::string_view> read = std::string_view();
    do {
      auto reading = opened->read_some();
      read = scene.here.run(std::move(reading)).take();
    } while (read && !read->empty());
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error() == http_errc::bad_frame);
    CHECK(scene.ends() == "200 hello");
    CHECK(scene.server.connections() == (is_of_stream ? 1U : 2U));
  }
}

TEST_CASE("a server that sends much, and useless frames now and then, is served") {
  if (!can_speak_http2()) return;
  lying_scene scene(lying_scene::to_requests([](http2_script&, const heard_frame& frame) {
    return braid::testing::frame(frame_type::ping, 0, 0, "12345678") + hello(frame.stream);
  }));
  for (int i = 0; i < 1'000; ++i) REQUIRE(scene.ends() == "200 hello");
  // Time refills the account as well.
  const auto ping = [](int) { return frame(frame_type::ping, 0, 0, "12345678"); };
  scene.server.say(repeated(390, ping));
  scene.here.advance(4s);
  scene.server.say(repeated(390, ping));
  CHECK(scene.ends() == "200 hello");
  CHECK(scene.server.connections() == 1);
}

#endif
