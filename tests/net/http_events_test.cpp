// tests/net/http_events_test.cpp: streams of server-sent events: their text, their comments, and their end.
#include <braid/net/http_events.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>

using namespace braid;
using testing::http_scene;

namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The data of the chunks.
auto make_body(const std::string& answer) -> std::string {
  std::string out;
  std::size_t at = answer.find("\r\n\r\n") + 4;
  while (at < answer.size()) {
    const std::size_t size = std::stoul(answer.substr(at), nullptr, 16);
    at = answer.find("\r\n", at) + 2;
    out += answer.substr(at, size);
    at += size + 2;
  }
  return out;
}

/// The body of a stream that sends these events and ends.
auto sent(std::vector<http_event> events) -> std::string {
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events& out) -> task<void> {
      for (const http_event& each : events) CHECK((co_await out.send(each)).has_value());
    };
    auto stream = x.events({}, produce);
    CHECK((co_await std::move(stream)).has_value());
  });
  http_scene scene(routes);
  const std::string answer = scene.exchange(get);
  CHECK(answer.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(answer.find("Cache-Control: no-store\r\n") != std::string::npos);
  CHECK(answer.ends_with("0\r\n\r\n"));
  return make_body(answer);
}

}  // namespace

TEST_CASE("an event is its fields, and each line of its data is one") {
  CHECK(sent({{.data = "hello"}}) == "data: hello\n\n");
  CHECK(sent({{.data = ""}}) == "data: \n\n");
  CHECK(sent({{.data = "a\nb\r\nc\rd\n"}}) == "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  CHECK(sent({{.data = "x", .type = "price", .id = "7", .retry = std::chrono::milliseconds(1500)}}) ==
        "event: price\nid: 7\nretry: 1500\ndata: x\n\n");
  CHECK(sent({{.data = "a"}, {.data = "b"}}) == "data: a\n\ndata: b\n\n");
}

TEST_CASE("a type or an id with a line end is refused, and nothing is sent") {
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [](http_events& out) -> task<void> {
      for (const http_event wrong :
           {http_event{.data = "x", .type = "a\nb"}, http_event{.data = "x", .type = "a\rb"},
            http_event{.data = "x", .id = "1\n"}, http_event{.data = "x", .id = std::string_view("1\0", 2)},
            http_event{.data = "x", .retry = std::chrono::milliseconds(-1)}}) {
        const result<void> refused = co_await out.send(wrong);
        REQUIRE(!refused);
        CHECK(refused.error() == errc::invalid_argument);
      }
    };
    auto stream = x.events({}, produce);
    static_cast<void>(co_await std::move(stream));
  });
  http_scene scene(routes);
  CHECK(make_body(scene.exchange(get)) == "");
}

TEST_CASE("a stream without events sends comments, and events put them off") {
  http_router routes;
  std::optional<result<void>> ended;
  std::string last;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events& out) -> task<void> {
      last = out.last_id();
      co_await sleep_for(10s);
      static_cast<void>(co_await out.send({.data = "now"}));
      co_await sleep_for(1h);
    };
    auto stream = x.events({.keep_alive = 15s}, produce);
    ended = co_await std::move(stream);
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  client->say("GET / HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 41\r\n\r\n");
  REQUIRE(client->hears("\r\n\r\n"));
  CHECK(last == "41");
  for (int second = 0; second < 24; ++second) scene.here.advance(1s);
  CHECK(make_body(client->heard()) == "data: now\n\n");
  for (int second = 0; second < 3; ++second) scene.here.advance(1s);
  CHECK(make_body(client->heard()) == "data: now\n\n:\n\n");
  CHECK(scene.server().counts().event_streams == 1);
  CHECK(scene.server().counts().events == 1);
  CHECK(!ended);
}

TEST_CASE("a stream ends when its client has gone") {
  http_router routes;
  std::optional<result<void>> ended;
  testing::deaths dead;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events&) -> task<void> {
      const testing::mortal local(dead);
      co_await sleep_for(1h);
    };
    auto stream = x.events({.keep_alive = 1s}, produce);
    ended = co_await std::move(stream);
  });
  http_scene scene(routes);
  {
    const auto client = scene.talker();
    client->say(get);
    REQUIRE(client->hears("\r\n\r\n"));
  }
  for (int second = 0; second < 10 && !ended; ++second) scene.here.advance(1s);
  REQUIRE(ended);
  CHECK(!ended->has_value());
  CHECK(dead.count == 1);
  CHECK(scene.server().counts().event_streams == 0);
}

TEST_CASE("a stream ends when its server stops, and the client sees the end") {
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events&) -> task<void> { co_await sleep_for(1h); };
    auto stream = x.events({}, produce);
    static_cast<void>(co_await std::move(stream));
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears("\r\n\r\n"));
  scene.stop(30s);
  scene.here.advance(1s);
  scene.here.advance(1s);
  CHECK(client->heard().ends_with("0\r\n\r\n"));
}

TEST_CASE("HEAD gets the head of a stream, and a second answer is refused") {
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events&) -> task<void> {
      FAIL("nothing is produced for HEAD");
      co_return;
    };
    auto stream = x.events({}, produce);
    CHECK((co_await std::move(stream)).has_value());
  });
  http_scene scene(routes);
  const std::string answer = scene.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(answer.find("text/event-stream") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("a failure of the producer cuts the answer") {
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    auto produce = [&](http_events& out) -> task<void> {
      static_cast<void>(co_await out.send({.data = "a"}));
      throw std::runtime_error("no more");
    };
    auto stream = x.events({}, produce);
    static_cast<void>(co_await std::move(stream));
  });
  http_scene scene(routes, {.on_error = [](const std::exception_ptr&) {}});
  const auto client = scene.talker();
  client->say(get);
  REQUIRE(client->hears_end());
  CHECK_FALSE(client->heard().ends_with("0\r\n\r\n"));
}
