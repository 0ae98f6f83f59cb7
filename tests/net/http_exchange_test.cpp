// tests/net/http_exchange_test.cpp: what a handler reads and says, and what comes of it.
#include <braid/net/http_server.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using testing::http_scene;
using testing::statuses_of;

namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

}  // namespace

TEST_CASE("an answer in pieces comes in chunks, to HTTP/1.0 up to the end, or has the length that was said") {
  http_router routes;
  auto pieces = [](http_exchange& x, std::optional<std::uint64_t> length) -> task<void> {
    x.begin(http_status::ok, "text/plain", length);
    for (const std::string_view piece : {std::string_view("one"), std::string_view(), std::string_view("two")})
      static_cast<void>(co_await x.write(piece));
    const std::string large(100'000, 'x');
    static_cast<void>(co_await x.write(large));
  };
  routes.get("/", [&](http_exchange& x) { return pieces(x, std::nullopt); });
  routes.get("/length", [&](http_exchange& x) { return pieces(x, 100'006); });
  http_scene scene(routes);
  const std::string body = "onetwo" + std::string(100'000, 'x');
  const std::string chunked = scene.exchange(get);
  CHECK(chunked.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  CHECK(chunked.find("3\r\none\r\n3\r\ntwo\r\n186a0\r\nxxx") != std::string::npos);
  CHECK(chunked.ends_with("xxx\r\n0\r\n\r\n"));
  const std::string old = scene.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(old.find("Connection: close\r\n") != std::string::npos);
  CHECK(old.ends_with("\r\n\r\n" + body));
  const std::string counted = scene.exchange("GET /length HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(counted.find("Content-Length: 100006\r\n") != std::string::npos);
  CHECK(counted.ends_with("\r\n\r\n" + body));
  CHECK(scene.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_CASE("an answer that does not come to its end is cut, and not taken for whole") {
  http_router routes;
  routes.get("/throws", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    static_cast<void>(co_await x.write("part"));
    throw std::runtime_error("in the middle");
  });
  routes.get("/less", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok, {}, 5);
    static_cast<void>(co_await x.write("part"));
  });
  routes.get("/more", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok, {}, 3);
    const result<void> written = co_await x.write("part");
    CHECK(written.error() == errc::full);
  });
  http_scene scene(routes, {.on_error = [](const std::exception_ptr&) {}});
  for (const std::string_view path : {"/throws", "/less", "/more"}) {
    for (const std::string_view version : {"1.1", "1.0"}) {
      const auto client = scene.talker();
      client->say("GET " + std::string(path) + " HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n");
      REQUIRE(client->hears_end());
      CHECK(client->error() == std::errc::connection_reset);
      CHECK_FALSE(client->heard().ends_with("0\r\n\r\n"));
    }
  }
}

TEST_CASE("a body is read while it comes") {
  http_router routes;
  std::vector<std::string> pieces;
  routes.post("/", [&](http_exchange& x) -> task<void> {
    for (;;) {
      const result<std::string_view> piece = co_await x.read_some();
      if (!piece || piece->empty()) break;
      pieces.emplace_back(*piece);
    }
    CHECK(x.request().path == "/");
    CHECK(x.trailers().find("sum") == "7");
    x.reply(http_status::created);
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  client->say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  client->say("3\r\nabc\r\n");
  CHECK(pieces == std::vector<std::string>{"abc"});
  client->say("4\r\nde");
  client->say("fg\r\n0\r\nSum: 7\r\n\r\n");
  REQUIRE(client->hears("201 Created"));
  CHECK(pieces == std::vector<std::string>{"abc", "de", "fg"});
}

TEST_CASE(
    "a handler knows that a body with a length is here before it reads it, and then its answer keeps the connection") {
  http_router routes;
  std::vector<bool> whole;
  routes.post("/", [&](http_exchange& x) -> task<void> {
    whole.push_back(x.has_whole_body());
    if (!whole.back()) {
      static_cast<void>(co_await x.read_some());
      whole.push_back(x.has_whole_body());
    }
    x.reply(http_status::ok);
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  const auto ask = [&](std::string_view rest) {
    client->forget();
    client->say("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(rest));
  };
  const std::vector<bool> yes{true};
  for (const std::string_view body : {"Content-Length: 5\r\n\r\nhello", "Content-Length: 0\r\n\r\n", "\r\n"}) {
    ask(body);
    REQUIRE(client->hears("200 OK"));
    CHECK(client->heard().find("Connection: close") == std::string::npos);
    CHECK(whole == yes);
    whole.clear();
  }
  ask("Content-Length: 5\r\n\r\nhell");
  REQUIRE(client->hears("200 OK"));
  CHECK(client->heard().find("Connection: close") != std::string::npos);
  CHECK(whole == std::vector<bool>{false, false});
  whole.clear();
  const auto other = scene.talker();
  other->say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  REQUIRE(other->hears("200 OK"));
  CHECK(whole.front() == false);
}

TEST_CASE("a body with a length that came with its head is there at once, and other bodies are not") {
  http_router routes;
  std::vector<std::optional<std::string>> now;
  std::vector<std::string> later;
  routes.post("/", [&](http_exchange& x) -> task<void> {
    for (int times = 0; times < 2; ++times) now.emplace_back(x.read_now());
    result<std::string> rest = co_await x.read_all();
    later.push_back(std::move(rest).value());
    x.reply(http_status::ok, "text/plain", now[now.size() - 2].value_or(""));
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  const auto ask = [&](std::string_view rest) {
    now.clear();
    later.clear();
    client->forget();
    client->say("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(rest));
  };
  using seen = std::vector<std::optional<std::string>>;
  ask("Content-Length: 5\r\n\r\nhello");
  REQUIRE(client->hears("200 OK"));
  CHECK(now == seen{"hello", ""});
  CHECK(later == std::vector<std::string>{""});
  ask("\r\n");
  REQUIRE(client->hears("200 OK"));
  CHECK(now == seen{"", ""});
  ask("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  REQUIRE(client->hears("200 OK"));
  CHECK(now == seen{std::nullopt, std::nullopt});
  CHECK(later == std::vector<std::string>{"hello"});
  ask("Content-Length: 5\r\n\r\nhel");
  client->say("lo");
  REQUIRE(client->hears("200 OK"));
  CHECK(now == seen{std::nullopt, std::nullopt});
  CHECK(later == std::vector<std::string>{"hello"});
  ask("Content-Length: 2\r\n\r\nhiPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nyou");
  REQUIRE(client->hears("\r\n\r\nyou"));
  CHECK(now == seen{"hi", "", "you", ""});
}

TEST_CASE("a client that waits for leave gets it when the body is wanted, and not before") {
  http_router routes;
  routes.post("/", [](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (body) x.reply(http_status::ok, "text/plain", *body);
  });
  routes.post("/no", [](http_exchange& x) { x.reply(http_status::forbidden); });
  http_scene scene(routes);
  const std::string_view rest = " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
  const auto client = scene.talker();
  client->say("POST /" + std::string(rest));
  REQUIRE(client->hears("HTTP/1.1 100 Continue\r\n\r\n"));
  client->say("hello");
  REQUIRE(client->hears("hello"));
  client->forget();
  client->say("POST /" + std::string(rest) + "hello");
  REQUIRE(client->hears("hello"));
  CHECK(client->heard().find("100 Continue") == std::string::npos);
  client->forget();
  client->say("POST /no" + std::string(rest));
  REQUIRE(client->hears("403"));
  CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(client->heard().find("100 Continue") == std::string::npos);
}

TEST_CASE("a field of the answer cannot bring others along, and a text alone has its type") {
  http_router routes;
  routes.get("/", [](http_exchange& x) {
    CHECK(x.set_field("X", "a\r\nSet-Cookie: b").error() == http_errc::bad_field);
    CHECK(x.set_field("Content-Length", "3").error() == http_errc::reserved_field);
    CHECK(x.set_field("X", "fine").has_value());
    x.reply(http_status::ok);
    CHECK(x.set_field("Y", "late").error() == errc::finished);
  });
  routes.get("/type", [](http_exchange& x) { x.reply(http_status::ok, "a\r\nX: y", "body"); });
  routes.get("/text", [](http_exchange& x) { x.reply(http_status::ok, "a text"); });
  http_scene scene(routes);
  const std::string text = scene.exchange("GET /text HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(text.find("Content-Type: text/plain; charset=utf-8\r\n") != std::string::npos);
  CHECK(text.ends_with("\r\n\r\na text"));
  const std::string heard = scene.exchange(get);
  CHECK(heard.find("X: fine\r\n") != std::string::npos);
  CHECK(heard.find("Cookie") == std::string::npos);
  const std::string type = scene.exchange("GET /type HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(statuses_of(type) == "500");
  CHECK(type.find("X: y") == std::string::npos);
}
