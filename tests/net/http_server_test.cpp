// tests/net/http_server_test.cpp: what clients, good, bad and slow, get from a server.
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/http_scene.hpp>
#include <tests/support/http_table.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using testing::http_scene;
using testing::statuses_of;

namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

auto hello_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.get("/users/{id}", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", x.value("id")); });
  return routes;
}

/// Reads the whole body and says it back.
auto echo(http_exchange& x) -> task<void> {
  const result<std::string> body = co_await x.read_all();
  if (body) x.reply(http_status::ok, "text/plain", *body);
}

auto echo_routes() -> http_router {
  http_router routes;
  for (const auto method : {http_method::get, http_method::post, http_method::options, http_method::put}) {
    routes.add(method, "/", &echo);
    routes.add(method, "/{rest...}", &echo);
  }
  return routes;
}

}  // namespace

TEST_CASE("a request is answered, and the connection stays for the next") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  const auto client = scene.talker();
  for (int i = 0; i < 3; ++i) {
    client->forget();
    client->say(get);
    REQUIRE(client->hears("hello"));
    CHECK(client->heard().starts_with("HTTP/1.1 200 OK\r\nDate: "));
    CHECK(client->heard().find("Content-Length: 5\r\n") != std::string::npos);
    CHECK(client->heard().find("Content-Type: text/plain\r\n") != std::string::npos);
    CHECK(client->heard().find("Connection") == std::string::npos);
  }
  CHECK_FALSE(client->ended());
  CHECK(scene.server().counts().requests == 3);
  CHECK(scene.server().counts().accepted == 1);
  CHECK(scene.server().counts().open == 1);
}

TEST_CASE("requests in a row are answered in their order, and in few pieces") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  const auto client = scene.talker();
  std::string all;
  for (int i = 0; i < 1'000; ++i) all += "GET /users/" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  client->say(all);
  REQUIRE(client->hears("\r\n\r\n999"));
  std::size_t at = 0;
  for (int i = 0; i < 1'000; ++i) {
    at = client->heard().find("\r\n\r\n" + std::to_string(i), at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(scene.server().counts().requests == 1'000);
}

TEST_CASE("a path that nobody knows is 404, a method that it has not is 405 and names those it has") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  CHECK(statuses_of(scene.exchange("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")) == "404");
  const std::string put = scene.exchange("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  CHECK(statuses_of(put) == "405");
  CHECK(put.find("Allow: GET, HEAD\r\n") != std::string::npos);
  const std::string options = scene.exchange("OPTIONS /users/1 HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(statuses_of(options) == "204");
  CHECK(options.find("Allow: GET, HEAD\r\n") != std::string::npos);
  CHECK(statuses_of(scene.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")) == "204");
}

TEST_CASE("HEAD has the length and not the body") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  const std::string heard = scene.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(heard.find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(heard.ends_with("\r\n\r\n"));
  const std::string missing = scene.exchange("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(missing.starts_with("HTTP/1.1 404"));
  CHECK(missing.ends_with("\r\n\r\n"));
}

TEST_CASE("a fault behind a HEAD is answered with a body again") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  const std::string heard = scene.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nBAD\r\n\r\n");
  CHECK(heard.ends_with("Bad Request\n"));
}

TEST_CASE("every request of the table gets the answer that is due, at once and byte by byte") {
  const http_router routes = echo_routes();
  http_scene scene(routes);
  for (const testing::http_row& row : testing::http_table("tests/net/http_abuse.txt", 2)) {
    INFO(row.name());
    std::string due = row.columns[0];
    for (std::size_t at = due.find("ok"); at != due.npos; at = due.find("ok")) due.replace(at, 2, "200");
    if (due.ends_with("more")) due.resize(due.size() - std::min<std::size_t>(due.size(), 5));
    if (row.name() == "an asterisk for options") due = "204";
    const bool in_body = row.bytes.find("\r\n\r\n") != row.bytes.npos;
    if (row.columns[0] == "more") due = in_body ? "400" : "";  // a client that ends in a head hears nothing
    CHECK(statuses_of(scene.exchange(row.bytes)) == due);
    if (row.bytes.size() > 400) continue;
    const auto slow = scene.talker();
    for (const char c : row.bytes) slow->say({&c, 1});
    slow->finish();
    REQUIRE(slow->hears_end());
    const std::string_view continued = "HTTP/1.1 100 Continue\r\n\r\n";
    std::string heard = slow->heard();
    if (heard.starts_with(continued)) heard.erase(0, continued.size());
    CHECK(statuses_of(heard) == due);
  }
  CHECK(scene.server().counts().failed == 0);
}

TEST_CASE("a handler that throws is answered for, and the next request is served") {
  http_router routes = hello_routes();
  routes.get("/throws", [](http_exchange&) { throw std::runtime_error("plain"); });
  routes.get("/later", [](http_exchange&) -> task<void> {
    co_await sleep_for(0ms);
    throw std::runtime_error("coroutine");
  });
  routes.get("/silent", [](http_exchange&) {});
  routes.get("/stopped", [](http_exchange&) -> task<void> { co_await stop_here(); });
  int reported = 0;
  http_scene scene(routes, {.on_error = [&](const std::exception_ptr&) { ++reported; }});
  const auto client = scene.talker();
  for (const std::string_view path : {"/throws", "/later", "/silent", "/stopped"}) {
    client->forget();
    client->say("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(client->hears("Internal Server Error\n"));
    CHECK(client->heard().starts_with("HTTP/1.1 500"));
  }
  client->say(get);
  CHECK(client->hears("hello"));
  CHECK(reported == 2);
  CHECK(scene.server().counts().failed == 4);
}

TEST_CASE("a body that nobody reads does not become the next request") {
  http_router routes = hello_routes();
  routes.post("/", [](http_exchange& x) { x.reply(http_status::ok, {}, "done"); });
  http_scene scene(routes);
  const std::string whole =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 28\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(statuses_of(scene.exchange(whole + std::string(get))) == "200 200");
  const auto client = scene.talker();
  client->say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  REQUIRE(client->hears("done"));
  CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  client->say(std::string(1'000, 'x') + std::string(get));
  client->finish();
  REQUIRE(client->hears_end());
  CHECK(statuses_of(client->heard()) == "200");
}

TEST_CASE("HTTP/1.0 and Connection: close end the connection, keep-alive keeps it") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  for (const std::string_view text :
       {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}) {
    const auto client = scene.talker();
    client->say(text);
    REQUIRE(client->hears_end());
    CHECK(client->heard().find("Connection: close\r\n") != std::string::npos);
  }
  const auto client = scene.talker();
  client->say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  REQUIRE(client->hears("hello"));
  CHECK(client->heard().find("Connection: keep-alive\r\n") != std::string::npos);
  CHECK_FALSE(client->ended());
}
