// tests/net/http_trailers_test.cpp: fields after the body of an answer, and handlers that end with their client.
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;
using namespace braid::testing;

TEST_CASE("fields that follow the body of an answer are sent by both protocols") {
  http_router routes;
  result<void> late;
  routes.get("/whole", [&](http_exchange& x) {
    CHECK(x.set_trailer("X-Sum", "7").has_value());
    CHECK(x.set_trailer("X-Two", "b").has_value());
    x.reply(http_status::ok, "text/plain", "body");
    late = x.set_trailer("X-Late", "1");
  });
  routes.get("/empty", [](http_exchange& x) {
    CHECK(x.set_trailer("X-Sum", "0").has_value());
    x.reply(http_status::ok, "text/plain", "");
  });
  routes.get("/none", [](http_exchange& x) {
    CHECK(x.set_trailer("X-Sum", "0").has_value());
    x.reply(http_status::no_content);
  });
  routes.get("/pieces", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok, "text/plain");
    static_cast<void>(co_await x.write("one "));
    static_cast<void>(co_await x.write("two"));
    CHECK(x.set_trailer("X-Sum", "2").has_value());
  });
  routes.get("/length", [](http_exchange& x) -> task<void> {
    CHECK(x.set_trailer("X-Sum", "3").has_value());
    x.begin(http_status::ok, "text/plain", 3);  // the length is dropped
    static_cast<void>(co_await x.write("four"));
  });
  http_scene scene(routes);
  const auto ask = [&](std::string_view path) {
    const std::string all =
        scene.exchange("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return all.substr(all.find("\r\n\r\n") + 4);
  };
  CHECK(ask("/whole") == "4\r\nbody\r\n0\r\nX-Sum: 7\r\nX-Two: b\r\n\r\n");
  CHECK(late.error() == errc::finished);
  CHECK(ask("/empty") == "0\r\nX-Sum: 0\r\n\r\n");
  CHECK(ask("/none").empty());
  CHECK(ask("/pieces") == "4\r\none \r\n3\r\ntwo\r\n0\r\nX-Sum: 2\r\n\r\n");
  CHECK(ask("/length") == "4\r\nfour\r\n0\r\nX-Sum: 3\r\n\r\n");
  if (!can_speak_http2()) return;
  http2_peer client(scene);
  client.say(get_frame(1, "/whole"));
  CHECK(client.hears(1).ends_with(" body"));
  REQUIRE(client.answer(1).heads.size() == 2);
  CHECK(client.answer(1).heads[0].front().second == "200");
  CHECK(client.answer(1).heads[1] == http2_fields{{"x-sum", "7"}, {"x-two", "b"}});
  client.say(get_frame(3, "/empty"));
  CHECK(client.hears(3).empty());
  REQUIRE(client.answer(3).heads.size() == 2);
  CHECK(client.answer(3).field("x-sum") == "0");
  client.say(get_frame(5, "/none"));
  CHECK(client.hears(5) == "204");
  client.say(get_frame(7, "/pieces"));
  CHECK(client.hears(7) == " one two");
  CHECK(client.answer(7).field("x-sum") == "2");
  client.say(get_frame(9, "/length"));
  CHECK(client.hears(9) == " four");
  CHECK(client.answer(9).field("x-sum") == "3");
}

TEST_CASE("a field that must not follow a body, or comes too late, is refused") {
  http_router routes;
  std::vector<std::error_code> errors;
  const auto set = [&](http_exchange& x, std::string_view name, std::string_view value) {
    const result<void> done = x.set_trailer(name, value);
    errors.push_back(done ? std::error_code() : done.error());
  };
  routes.get("/", [&](http_exchange& x) -> task<void> {
    set(x, "Content-Type", "text/html");
    set(x, "Set-Cookie", "a=1");
    set(x, "Content-Length", "3");
    set(x, "X Y", "1");
    set(x, "X-Y", "a\r\nb");
    x.begin(http_status::ok, "text/plain", 2);
    static_cast<void>(co_await x.write("ok"));
    set(x, "X-Y", "1");
  });
  http_scene scene(routes);
  static_cast<void>(scene.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  const std::vector<std::error_code> expected{http_errc::forbidden_trailer, http_errc::forbidden_trailer,
                                              http_errc::reserved_field,    http_errc::bad_field,
                                              http_errc::bad_field,         errc::finished};
  CHECK(errors == expected);
  if (can_speak_http2()) {
    errors.clear();
    http2_peer client(scene);
    client.say(get_frame(1, "/"));
    CHECK(client.hears(1) == "200 ok");
    CHECK(errors == expected);
  }
  errors.clear();
  static_cast<void>(scene.exchange("GET / HTTP/1.0\r\n\r\n"));
  REQUIRE(errors.size() == 6);
  CHECK(errors[5] == std::errc::not_supported);
}

TEST_CASE("a route may stop a handler whose client has gone") {
  if (!can_speak_http2()) return;
  struct counts {
    int begun = 0;
    int ended = 0;
  } seen;
  struct guard {
    counts* of;
    explicit guard(counts& c) noexcept : of(&c) { ++of->begun; }
    guard(const guard&) = delete;
    auto operator=(const guard&) -> guard& = delete;
    ~guard() { ++of->ended; }
  };
  http_router routes;
  const http_router::route_options options{.name = "stops", .stops_with_client = true};
  routes.get("/wait", options, [&](http_exchange&) -> task<void> {
    const guard here(seen);
    co_await sleep_for(1h);
  });
  routes.get("/pieces", options, [&](http_exchange& x) -> task<void> {
    const guard here(seen);
    x.begin(http_status::ok, "text/plain");
    static_cast<void>(co_await x.write("one"));
    co_await sleep_for(1h);
  });
  routes.get("/fine", options, [](http_exchange& x) -> task<void> {
    co_await yield();
    x.reply(http_status::ok, "text/plain", "fine");
  });
  http_scene scene(routes, {.on_error = [](std::exception_ptr) {}});
  http2_peer client(scene);
  client.say(get_frame(1, "/wait") + get_frame(3, "/pieces") + get_frame(5, "/wait"));
  REQUIRE(scene.here.run_until([&] { return client.answer(3).body == "one"; }));
  REQUIRE(seen.begun == 3);
  client.say(frame(frame_type::rst_stream, 0, 1, number32(8)) + frame(frame_type::rst_stream, 0, 3, number32(8)));
  CHECK(scene.here.run_until([&] { return seen.ended == 2; }));
  client.say(get_frame(7, "/fine"));
  CHECK(client.hears(7) == "200 fine");
  client.talker().finish();  // the connection ends, so the last handler is stopped as well
  CHECK(scene.here.run_until([&] { return seen.ended == 3; }));
  CHECK(scene.server().counts().failed == 0);
}

#endif
