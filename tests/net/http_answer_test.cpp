// tests/net/http_answer_test.cpp: handlers that answer twice, late or from several tasks, and what a route says of
// itself.
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace braid;
using testing::http_scene;
using testing::statuses_of;

namespace {

auto get(std::string_view path) -> std::string { return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

/// Collects what a server reports.
struct reports {
  auto callback() -> error_callback {
    return [this](const std::exception_ptr& error, const error_callback::origin& from) {
      try {
        std::rethrow_exception(error);
      } catch (const std::system_error& what) {
        all.push_back(from.what);
        codes.push_back(what.code());
      }
    };
  }
  std::vector<std::string> all;
  std::vector<std::error_code> codes;
};

void reply_twice(http_exchange& x) {
  x.reply(http_status::ok, "first");
  x.reply(http_status::gateway_timeout, "second");
}

auto reply_and_wait(http_exchange& x) -> task<void> {
  x.reply(http_status::ok, "first");
  co_await sleep_for(1h);
}

/// A deadline around a handler that has answered before.
auto reply_late(http_exchange& x) -> task<void> {
  auto limited = with_timeout(1s, reply_and_wait(x));
  if (!co_await std::move(limited)) x.reply(http_status::gateway_timeout, "late");
}

// clang-format off: a page shows these lines
// [guide]
auto reply_unless_answered(http_exchange& x) -> task<void> {
  auto limited = with_timeout(1s, reply_and_wait(x));
  if (!co_await std::move(limited) && !x.answered())
    x.reply(http_status::gateway_timeout, "late");
}
// [/guide]
// clang-format on

void begin_after_reply(http_exchange& x) {
  x.reply(http_status::ok, "first");
  x.begin(http_status::ok);
}

}  // namespace

TEST_CASE("a second answer is a failed handler; the first one is sent, and the connection serves the next request") {
  http_router routes;
  routes.get("/twice", &reply_twice);
  routes.get("/late", &reply_late);
  routes.get("/begin", &begin_after_reply);
  routes.get("/fine", &reply_unless_answered);
  reports told;
  http_scene scene(routes, {.on_error = told.callback()});
  const auto client = scene.talker();
  for (const std::string_view path : {"/twice", "/late", "/begin", "/fine"}) {
    INFO(path);
    client->forget();
    client->say(get(path));
    scene.here.advance(2s);
    REQUIRE(client->hears("first"));
    CHECK(statuses_of(client->heard()) == "200");
  }
  CHECK_FALSE(client->ended());
  CHECK(told.all ==
        std::vector<std::string>{"the handler of GET /twice", "the handler of GET /late", "the handler of GET /begin"});
  for (const std::error_code code : told.codes) CHECK(code == http_errc::answered_twice);
  CHECK(scene.server().counts().failed == 3);
}

TEST_CASE("a reply within an answer in pieces cuts the connection, because what was sent is not whole") {
  http_router routes;
  routes.get("/", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    static_cast<void>(co_await x.write("part"));
    x.reply(http_status::ok, "whole");
  });
  reports told;
  http_scene scene(routes, {.on_error = told.callback()});
  const auto client = scene.talker();
  client->say(get("/"));
  REQUIRE(client->hears_end());
  CHECK(client->heard().find("whole") == std::string::npos);
  CHECK(told.codes == std::vector<std::error_code>{http_errc::answered_twice});
}

TEST_CASE("an answer with a status that cannot be one is a 500, and the connection serves the next request") {
  for (const unsigned number : {0U, 99U, 100U, 101U, 199U, 1000U, 65'535U}) {
    INFO(number);
    const auto status = static_cast<http_status>(number);
    http_router routes;
    routes.get("/", [&](http_exchange& x) { x.reply(status, "text"); });
    routes.get("/pieces", [&](http_exchange& x) -> task<void> {
      x.begin(status);
      CHECK((co_await x.write("text")).error() == errc::finished);
    });
    http_scene scene(routes);
    const std::string heard = scene.exchange(
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /pieces HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(statuses_of(heard) == "500 500 500");
  }
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status{999}, "text"); });
  http_scene scene(routes);
  CHECK(statuses_of(scene.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")) == "999");
}

TEST_CASE("an exchange says whether it is answered, and how") {
  std::vector<std::string> seen;
  http_router routes;
  const auto look = [&](const http_exchange& x) {
    const auto status = x.status();
    CHECK(status.has_value() == x.answered());
    seen.push_back(status ? std::to_string(static_cast<int>(*status)) : "none");
  };
  routes.get("/reply", [&](http_exchange& x) {
    look(x);
    x.reply(http_status::not_found);
    look(x);
  });
  routes.get("/begin", [&](http_exchange& x) -> task<void> {
    look(x);
    x.begin(http_status::accepted);
    look(x);
    static_cast<void>(co_await x.write("a"));
    look(x);
  });
  http_scene scene(routes);
  CHECK(statuses_of(scene.exchange(get("/reply") + get("/begin"))) == "404 202");
  CHECK(seen == std::vector<std::string>{"none", "404", "none", "202", "202"});
}

TEST_CASE("a handler knows the address of its client") {
  std::optional<socket_address> seen;
  http_router routes;
  routes.get("/", [&](http_exchange& x) {
    seen = x.peer().value();
    x.reply(http_status::ok);
  });
  http_scene scene(routes, {});
  auto ask = [&]() -> task<socket_address> {
    stream_socket socket = (co_await stream_socket::connect(scene.here.io(), scene.address())).value();
    auto opening = testing::tested_stream::as_client(std::move(socket));
    testing::tested_stream stream = (co_await std::move(opening)).value();
    const std::string request = get("/");
    CHECK((co_await stream.write_all(bytes_of(request))).has_value());
    std::array<std::byte, 1000> room{};
    CHECK((co_await stream.read_some(room)).has_value());
    co_return seen.value();
  };
  const auto client = scene.talker();
  client->say(get("/"));
  REQUIRE(client->hears("200"));
  const socket_address first = seen.value();
  CHECK(first.host() == "127.0.0.1");
  CHECK(first.port() != scene.address().port());
  CHECK(scene.here.run(ask()).take().port() != first.port());
}

TEST_CASE("two tasks of a handler that read the body, or write the answer, at once are told so") {
  std::vector<std::error_code> seen;
  http_router routes;
  const auto read = [&](http_exchange& x) -> task<void> {
    const auto got = co_await x.read_some();
    seen.push_back(got ? std::error_code() : got.error());
  };
  const auto write = [&](http_exchange& x, std::string_view text) -> task<void> {
    const auto sent = co_await x.write(text);
    seen.push_back(sent ? std::error_code() : sent.error());
  };
  routes.post("/read", [&](http_exchange& x) -> task<void> {
    auto both = when_all(read(x), read(x));
    co_await std::move(both);
    x.reply(http_status::ok, "read");
  });
  const std::string large(32U << 20U, 'x');
  routes.get("/write", [&](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    auto both = when_all(write(x, large), write(x, "second"));
    co_await std::move(both);
  });
  http_scene scene(routes);
  const auto client = scene.talker();
  client->say("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
  client->say("body");
  REQUIRE(client->hears("read"));
  CHECK(seen == std::vector<std::error_code>{http_errc::used_twice, {}});
  seen.clear();
  client->say(get("/write"));
  REQUIRE(scene.here.run_until([&] { return seen.size() == 2; }));
  CHECK(seen == std::vector<std::error_code>{http_errc::used_twice, {}});
  CHECK(scene.here.run_until([&] { return client->heard().ends_with("0\r\n\r\n"); }));
  CHECK(client->heard().find("second") == std::string::npos);
}

TEST_CASE("a write that a deadline cuts off ends the connection, and nothing is sent twice") {
  std::vector<std::error_code> seen;
  const std::string large(32U << 20U, 'x');
  http_router routes;
  routes.get("/", [&](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    auto limited = with_timeout(1s, x.write(large));
    const result<void> first = co_await std::move(limited);
    seen.push_back(first ? std::error_code() : first.error());
    const result<void> second = co_await x.write("more");
    seen.push_back(second ? std::error_code() : second.error());
  });
  http_scene scene(routes, {.write_timeout = 1h});
  const auto client = scene.talker();
  client->be_deaf();
  client->say(get("/"));
  scene.here.advance(2s);
  REQUIRE(scene.here.run_until([&] { return seen.size() == 2; }));
  CHECK(seen == std::vector<std::error_code>{errc::deadline_exceeded, errc::finished});
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
}

TEST_CASE("a route has a name, which reports and its handler see") {
  std::vector<std::string> seen;
  http_router routes;
  routes.get("/users/{id}", {.name = "user"}, [&](http_exchange& x) { seen.emplace_back(x.route()); });
  routes.get("/plain/{id}", [&](http_exchange& x) { seen.emplace_back(x.route()); });
  reports told;
  http_scene scene(routes, {.on_error = told.callback()});
  CHECK(statuses_of(scene.exchange(get("/users/7") + get("/plain/7"))) == "500 500");
  CHECK(seen == std::vector<std::string>{"user", "/plain/{id}"});
  CHECK(told.all == std::vector<std::string>{"the handler `user` of GET /users/7", "the handler of GET /plain/7"});
}

TEST_CASE("a route has a deadline, at which its handler is stopped, reported and answered for") {
  http_router routes;
  routes.get("/slow", {.deadline = 1s}, [](http_exchange&) -> task<void> { co_await sleep_for(1h); });
  routes.get("/answered", {.deadline = 1s}, &reply_and_wait);
  routes.get("/quick", {.deadline = 1s}, [](http_exchange& x) -> task<void> {
    co_await sleep_for(1ms);
    x.reply(http_status::ok, "quick");
  });
  reports told;
  std::vector<std::error_code> refusals;
  http_server::options options{.on_error = told.callback()};
  options.format_refusal = [&](const http_server::refusal& refusal) -> http_server::refusal_text {
    refusals.push_back(refusal.why);
    return {.body = "too late"};
  };
  http_scene scene(routes, std::move(options));
  const auto client = scene.talker();
  client->say(get("/slow"));
  scene.here.advance(900ms);
  CHECK(client->heard().empty());
  scene.here.advance(200ms);
  REQUIRE(client->hears("too late"));
  CHECK(statuses_of(client->heard()) == "503");
  client->forget();
  client->say(get("/answered"));
  scene.here.advance(2s);
  REQUIRE(client->hears("first"));
  client->forget();
  client->say(get("/quick"));
  scene.here.advance(2ms);
  REQUIRE(client->hears("quick"));
  CHECK(refusals == std::vector<std::error_code>{errc::deadline_exceeded});
  CHECK(told.all == std::vector<std::string>{"the handler of GET /slow", "the handler of GET /answered"});
  CHECK(told.codes == std::vector<std::error_code>{errc::deadline_exceeded, errc::deadline_exceeded});
  CHECK(scene.server().counts().failed == 2);
}

TEST_CASE("a route has a limit of bodies that may be above or below that of the server") {
  const auto size = [](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (body) x.reply(http_status::ok, std::to_string(body->size()));
  };
  http_router routes;
  routes.post("/usual", size);
  routes.post("/small", {.body_bytes = 2}, size);
  routes.post("/large", {.body_bytes = 20}, size);
  http_scene scene(routes, {.limits = {.body_bytes = 10}});
  const auto post = [&](std::string_view path, std::size_t bytes) {
    return statuses_of(scene.exchange("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                                      std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x')));
  };
  const auto chunked = [&](std::string_view path, std::string_view size_and_data) {
    return statuses_of(scene.exchange("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " +
                                      "chunked\r\n\r\n" + std::string(size_and_data) + "\r\n0\r\n\r\n"));
  };
  CHECK(post("/usual", 10) == "200");
  CHECK(post("/usual", 11) == "413");
  CHECK(post("/small", 2) == "200");
  CHECK(post("/small", 3) == "413");
  CHECK(post("/large", 20) == "200");
  CHECK(post("/large", 21) == "413");
  CHECK(post("/none", 11) == "413");
  CHECK(chunked("/small", "2\r\nxx") == "200");
  CHECK(chunked("/small", "3\r\nxxx") == "413");
  CHECK(chunked("/large", "b\r\nxxxxxxxxxxx") == "200");
  CHECK(chunked("/usual", "b\r\nxxxxxxxxxxx") == "413");
}
