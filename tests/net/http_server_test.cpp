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

TEST_CASE("what a connection has begun to send stays its own while others are answered") {
  http_router routes;
  routes.post("/{who}", [](http_exchange& x) -> task<void> {
    const std::string who(x.value("who"));
    const result<std::string> body = co_await x.read_all();
    static_cast<void>(x.set_field("For", who));
    if (body) x.reply(http_status::ok, "text/plain", who + ":" + *body);
  });
  http_scene scene(routes);
  // Cut in the start line, in a field, in the body: each client is somewhere else when the next one's bytes come.
  const auto request = [](int who) {
    return "POST /" + std::to_string(who) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n" +
           std::to_string(1'000 + who);
  };
  std::vector<decltype(scene.talker())> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(scene.talker());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t pass = 0; pass < 2; ++pass) {
      for (int i = 0; i < 40; ++i) {
        const std::string all = request(i);
        const std::size_t cut = (static_cast<std::size_t>(i) * 7 + 1) % all.size();
        clients[static_cast<std::size_t>(i)]->say(pass == 0 ? all.substr(0, cut) : all.substr(cut));
      }
    }
    for (int i = 0; i < 40; ++i) {
      testing::http_talker& one = *clients[static_cast<std::size_t>(i)];
      REQUIRE(one.hears(std::to_string(i) + ":" + std::to_string(1'000 + i)));
      CHECK(one.heard().find("\r\nFor: " + std::to_string(i) + "\r\n") != std::string::npos);
      CHECK(statuses_of(one.heard()) == "200");
      one.forget();
    }
  }
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
  http_scene scene(routes, {.http2 = {.enabled = false}});  // its preface is one of the requests
  int closed = 0;
  int stayed = 0;
  for (const testing::http_row& row : testing::http_table("tests/net/http_abuse.txt", 2)) {
    INFO(row.name());
    std::string due = row.columns[0];
    for (std::size_t at = due.find("ok"); at != due.npos; at = due.find("ok")) due.replace(at, 2, "200");
    if (due.ends_with("more")) due.resize(due.size() - std::min<std::size_t>(due.size(), 5));
    if (row.name() == "an asterisk for options") due = "204";
    const bool in_body = row.bytes.find("\r\n\r\n") != row.bytes.npos;
    if (row.columns[0] == "more") due = in_body ? "400" : "";  // a client that ends in a head hears nothing
    const std::string at_once = scene.exchange(row.bytes);
    CHECK(statuses_of(at_once) == due);
    const bool is_whole = !row.columns[0].ends_with("more");
    const bool refuses = is_whole && !row.columns[0].ends_with("ok");
    // The client does not end: where a close is due it is the server's own, and elsewhere there is none.
    const bool closes = refuses || (is_whole && at_once.find("\r\nConnection: close\r\n") != at_once.npos);
    const auto patient = scene.talker();
    patient->say(row.bytes);
    if (closes) {
      REQUIRE(patient->hears_end());
      CHECK(statuses_of(patient->heard()) == due);
      ++closed;
    } else {
      scene.here.run_once(20);
      CHECK_FALSE(patient->ended());
      ++stayed;
    }
    if (row.bytes.size() > 400) continue;
    const auto slow = scene.talker();
    for (const char c : row.bytes) slow->say({&c, 1});
    if (!closes) slow->finish();
    REQUIRE(slow->hears_end());
    const std::string_view continued = "HTTP/1.1 100 Continue\r\n\r\n";
    std::string heard = slow->heard();
    if (heard.starts_with(continued)) heard.erase(0, continued.size());
    CHECK(statuses_of(heard) == due);
  }
  CHECK(closed > 200);
  CHECK(stayed > 20);
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
  std::vector<std::string> reported;
  http_scene scene(routes, {.on_error = [&](const std::exception_ptr&, const error_callback::origin& from) {
                     reported.emplace_back(from.what);
                   }});
  const auto client = scene.talker();
  for (const std::string_view path : {"/throws", "/later", "/silent", "/stopped"}) {
    client->forget();
    client->say("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(client->hears("Internal Server Error\n"));
    CHECK(client->heard().starts_with("HTTP/1.1 500"));
  }
  client->say(get);
  CHECK(client->hears("hello"));
  CHECK(reported == std::vector<std::string>{"the handler of GET /throws", "the handler of GET /later",
                                             "the handler of GET /silent"});
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

TEST_CASE("the server's own answers say what the program wants them to") {
  http_router routes;
  routes.post("/", &echo);
  routes.get("/silent", [](http_exchange&) {});
  http_server::options options{.limits = {.body_bytes = 10}};
  options.format_refusal = [](const http_server::refusal& refusal) -> http_server::refusal_text {
    std::string words = std::to_string(static_cast<int>(refusal.status)) + (refusal.why ? " fault " : " plain ");
    return {.type = "text/x", .body = words + std::string(refusal.request ? refusal.request->path : "headless")};
  };
  http_scene scene(routes, std::move(options));
  const auto words = [&](std::string_view request) {
    const std::string answer = scene.exchange(request);
    CHECK(answer.find("Content-Type: text/x\r\n") != std::string::npos);
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  CHECK(words("GET /none HTTP/1.1\r\nHost: a\r\n\r\n") == "404 plain /none");
  CHECK(words("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == "405 plain /");
  CHECK(words("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n") == "500 plain /silent");
  CHECK(words("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n") == "413 fault headless");
  CHECK(words("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n") == "413 fault /");
  CHECK(words("nonsense\r\n\r\n") == "400 fault headless");
}

TEST_CASE("the server's own answers have the status and the fields that the program wants") {
  http_router routes;
  routes.post("/", &echo);
  http_server::options options;
  options.format_refusal = [](const http_server::refusal& refusal) -> http_server::refusal_text {
    return {.body = std::string(refusal.content_type),
            .status = http_status::ok,
            .fields = {{"X-Status", std::to_string(static_cast<int>(refusal.status))}, {"bad name", "x"}, {"Y", "\n"}}};
  };
  http_scene scene(routes, std::move(options));
  const std::string answer = scene.exchange("GET / HTTP/1.1\r\nHost: a\r\ncontent-type: a/b\r\n\r\n");
  CHECK(statuses_of(answer) == "200");
  CHECK(answer.find("X-Status: 405\r\n") != answer.npos);
  CHECK(answer.find("bad name") == answer.npos);
  CHECK(answer.find("Y:") == answer.npos);
  CHECK(answer.ends_with("\r\n\r\na/b"));
}

TEST_CASE("a refusal has none of the fields that the answer before it had") {
  http_router routes;
  routes.get("/", [](http_exchange& x) {
    CHECK(x.set_field("X-Own", "of the first"));
    x.reply(http_status::ok, {}, "hello");
  });
  http_scene scene(routes);
  const std::string heard = scene.exchange(std::string(get) + "nonsense\r\n\r\n");
  CHECK(statuses_of(heard) == "200 400");
  const std::size_t refusal = heard.find("HTTP/1.1 400");
  REQUIRE(refusal != heard.npos);
  CHECK(heard.rfind("X-Own: of the first") < refusal);
}

TEST_CASE("a client that goes on sending after it was refused still hears why") {
  const http_router routes = hello_routes();
  http_scene scene(routes);
  const auto client = scene.talker();
  client->say("BAD\r\n\r\n");
  REQUIRE(client->hears("Bad Request\n"));
  for (int i = 0; i < 20; ++i) client->say(std::string(5'000, 'x'));
  client->finish();
  REQUIRE(client->hears_end());
  CHECK_FALSE(client->error());
  CHECK(statuses_of(client->heard()) == "400");
}

TEST_CASE("a handler that gives an empty task has ended, whatever came of it") {
  http_router routes;
  routes.get("/done", [](http_exchange& x) -> task<void> {
    x.reply(http_status::ok, "text/plain", "at once");
    return {};
  });
  routes.get("/nothing", [](http_exchange&) -> task<void> { return {}; });
  routes.get("/throws", [](http_exchange&) -> task<void> { throw std::runtime_error("before there is a task"); });
  std::string told;
  const auto tell = [&](const std::exception_ptr& error, const braid::error_callback::origin& from) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& what) {
      told += std::string(from.what) + ": " + what.what() + "\n";
    }
  };
  http_scene scene(routes, {.on_error = tell});
  const auto client = scene.talker();
  for (const std::string_view path : {"/done", "/nothing", "/throws", "/done"})
    client->say("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  client->finish();
  REQUIRE(client->hears_end());
  CHECK(statuses_of(client->heard()) == "200 500 500 200");
  CHECK(told ==
        "the handler of GET /nothing: the handler ended without an answer: call reply, or begin and write\n"
        "the handler of GET /throws: before there is a task\n");
  CHECK(scene.server().counts().failed == 2);
}

namespace {

constexpr std::string_view refused = "GET /no HTTP/1.1\r\nHost: a\r\n\r\n";

auto refusing_routes() -> http_router {
  http_router routes = hello_routes();
  routes.get("/no", [](http_exchange& x) {
    x.pace();
    x.reply(http_status::service_unavailable, "text/plain", "no room");
  });
  return routes;
}

/// A client whose next request is not read before its turn; by a clock that stands, a refusal costs 4 us.
struct paced_scene : http_scene {
  explicit paced_scene(http_server::pacing how) : http_scene(routes, {.pacing = std::move(how)}) {}

  [[nodiscard]] auto is_refused(testing::http_talker& client) -> bool {
    client.forget();
    client.say(refused);
    return client.hears("no room");
  }
  /// Without a look at the clock: what is sent now waits.
  [[nodiscard]] auto waits(testing::http_talker& client, std::string_view text) -> bool {
    client.forget();
    client.say(text);
    here.run_once(50);
    return client.heard().empty();
  }

  static inline const http_router routes = refusing_routes();
};

}  // namespace

TEST_CASE("who is refused beyond the share of time is read from in turn, and others meanwhile as ever") {
  paced_scene scene({.share = 0.001});  // of 10 ms: 10 us
  const auto one = scene.talker();
  const auto two = scene.talker();
  for (int i = 0; i < 3; ++i) CHECK(scene.is_refused(*one));  // 2 us overdrawn
  CHECK(scene.server().counts().paced == 1);
  CHECK(scene.waits(*one, refused));
  CHECK(scene.is_refused(*two));  // 6 us
  CHECK(scene.server().counts().paced == 2);
  CHECK(scene.waits(*two, refused));
  const auto other = scene.talker();
  other->say(get);
  CHECK(other->hears("hello"));
  scene.here.advance(5ms);
  CHECK(one->heard().empty());
  scene.here.advance(2ms);
  CHECK(one->hears("no room"));
  scene.here.run_once(50);
  CHECK(two->heard().empty());
  scene.here.advance(4ms);
  CHECK(two->hears("no room"));
  CHECK(scene.server().counts().paced == 2);
}

TEST_CASE("a refusal within the share of time has no consequences") {
  paced_scene scene({.share = 0.001});
  const auto client = scene.talker();
  for (int i = 0; i < 20; ++i) {
    CHECK(scene.is_refused(*client));
    CHECK(scene.server().counts().paced == 0);
    scene.here.advance(5ms);
  }
}

TEST_CASE("no connection waits longer than the longest wait, whatever the share") {
  paced_scene scene({.share = 0, .max_wait = 1s});
  const auto client = scene.talker();
  CHECK(scene.is_refused(*client));
  CHECK(scene.waits(*client, get));
  scene.here.advance(999ms);
  CHECK(client->heard().empty());
  scene.here.advance(3ms);
  CHECK(client->hears("hello"));
  CHECK(scene.server().counts().paced == 0);
}

TEST_CASE("where there is room, as many connections have their turn, whatever the share") {
  std::size_t room = 0;
  paced_scene scene({.share = 0, .max_wait = 1h, .room = [&] { return room; }});
  const auto one = scene.talker();
  const auto two = scene.talker();
  for (const auto& client : {one.get(), two.get()}) {
    CHECK(scene.is_refused(*client));
    CHECK(scene.waits(*client, get));
  }
  scene.here.advance(10ms);
  CHECK(one->heard().empty());
  room = 1;
  scene.here.advance(2ms);
  CHECK(one->hears("hello"));
  scene.here.run_once(50);
  CHECK(two->heard().empty());
  scene.here.advance(2ms);
  CHECK(two->hears("hello"));
}

TEST_CASE("requests that come together are refused together") {
  paced_scene scene({.share = 0, .max_wait = 1h});
  const auto client = scene.talker();
  client->say(std::string(refused) + std::string(refused) + std::string(refused));
  CHECK(scene.here.run_until([&] { return statuses_of(client->heard()) == "503 503 503"; }));
  CHECK(scene.server().counts().paced == 1);
}

TEST_CASE("a stop reads what those have sent who wait for their turn") {
  paced_scene scene({.share = 0, .max_wait = 1h});
  const auto asks = scene.talker();
  const auto silent = scene.talker();
  for (const auto& client : {asks.get(), silent.get()}) CHECK(scene.is_refused(*client));
  CHECK(scene.waits(*asks, get));
  silent->forget();
  scene.stop(10s);
  REQUIRE(asks->hears_end());
  REQUIRE(silent->hears_end());
  CHECK(asks->heard().ends_with("hello"));
  CHECK(asks->heard().find("Connection: close\r\n") != std::string::npos);
  CHECK(silent->heard().empty());
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}
