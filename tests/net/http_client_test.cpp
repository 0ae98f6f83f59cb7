// tests/net/http_client_test.cpp: calls over connections that are kept, that have died, or that lie.
#include <braid/net/http_client.hpp>

#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;
using testing::http_scene;
using testing::test_loop;

namespace {

auto test_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.get("/user", [](http_exchange& x) {
    const auto agent = x.request().fields.find("User-Agent");
    x.reply(http_status::ok, "text/plain", agent.value_or("nobody"));
  });
  routes.post("/", [](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (!body) co_return;
    const bool chunked = x.request().body.how == http_framing::kind::chunked;
    static_cast<void>(x.set_field("X-Chunked", chunked ? "yes" : "no"));
    x.reply(http_status::ok, "text/plain", *body);
  });
  routes.get("/pieces", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    for (int i = 0; i < 100; ++i) static_cast<void>(co_await x.write(std::string(1000, 'x')));
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
    static_cast<void>(x.set_field("Location", "/user"));
    x.reply(http_status::found);
  });
  routes.get("/cycle", [](http_exchange& x) {
    static_cast<void>(x.set_field("Location", "/cycle"));
    x.reply(http_status::found);
  });
  routes.get("/secret", [](http_exchange& x) {
    const http_fields& fields = x.request().fields;
    x.reply(http_status::ok, "text/plain",
            fields.find("Authorization").value_or(fields.find("Cookie").value_or("none")));
  });
  routes.get("/part", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok, {}, 100);
    static_cast<void>(co_await x.write("part"));
    event never;
    co_await never;
  });
  routes.get("/never", [](http_exchange&) -> task<void> {
    event never;
    co_await never;
  });
  return routes;
}

struct client_scene : http_scene {
  explicit client_scene(http_client::options how = {})
      : http_scene(routes, {.limits = {.body_bytes = 64U << 20U}}),
        client(here.io(), testing::tested(std::move(how))) {}

  [[nodiscard]] auto url(std::string_view path) const -> std::string { return testing::tested_url(address(), path); }
  auto fetch(http_client::call call) -> result<http_client::answer> {
    outcome<result<http_client::answer>> ended = here.run(client.fetch(std::move(call)));
    return ended.take();
  }
  auto get(std::string_view path) -> result<http_client::answer> { return fetch({.url = url(path)}); }

  static inline const http_router routes = test_routes();
  http_client client;
};

/// A server that says what it is told, one text for each connection, after it has heard something. Then it closes the
/// connection, or keeps it and reads nothing more.
class liar {
 public:
  enum class afterwards : std::uint8_t { closes, keeps };
  liar(test_loop& here, std::vector<std::string> texts, afterwards then = afterwards::closes)
      : here_(&here), texts_(std::move(texts)), then_(then) {
    listener_ = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
    here.io().spawn(serve(*this));
    here.run_once();
  }
  liar(const liar&) = delete;
  auto operator=(const liar&) -> liar& = delete;
  ~liar() { here_->stop(); }

  [[nodiscard]] auto url() const -> std::string { return testing::tested_url(listener_.local_address().value(), "/"); }
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return connections_; }
  [[nodiscard]] auto requests() const noexcept -> std::size_t { return requests_; }

 private:
  static auto serve(liar& by) -> task<void> {
    for (const std::string& text : by.texts_) {
      auto got = co_await by.listener_.accept();
      if (!got) co_return;
      ++by.connections_;
      auto opening = testing::tested_stream::as_server(std::move(*got));
      auto open = co_await std::move(opening);
      if (!open) continue;
      std::array<std::byte, 4096> room{};
      if (const auto heard = co_await open->read_some(room); !heard || *heard == 0) continue;
      ++by.requests_;
      static_cast<void>(co_await open->write_all(bytes_of(text)));
      if (by.then_ == afterwards::keeps) by.kept_.push_back(std::move(*open));
    }
  }

  test_loop* here_;
  std::vector<std::string> texts_;
  afterwards then_;
  std::vector<testing::tested_stream> kept_;
  stream_listener listener_;
  std::size_t connections_ = 0;
  std::size_t requests_ = 0;
};

/// A server that answers the first request of each connection, says a few last words to the second, and goes.
class deserter {
 public:
  deserter(test_loop& here, std::string last_words) : here_(&here), last_words_(std::move(last_words)) {
    listener_ = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
    here.io().spawn(serve(*this));
    here.run_once();
  }
  deserter(const deserter&) = delete;
  auto operator=(const deserter&) -> deserter& = delete;
  ~deserter() { here_->stop(); }

  [[nodiscard]] auto url() const -> std::string { return testing::tested_url(listener_.local_address().value(), "/"); }
  [[nodiscard]] auto requests() const noexcept -> std::size_t { return requests_; }

 private:
  static auto serve(deserter& by) -> task<void> {
    for (;;) {
      auto got = co_await by.listener_.accept();
      if (!got) co_return;
      auto opening = testing::tested_stream::as_server(std::move(*got));
      const auto open = co_await std::move(opening);
      if (!open) continue;
      const std::array<std::string, 2> answers{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", by.last_words_};
      for (const std::string& answer : answers) {
        std::array<std::byte, 4096> room{};
        if (const auto heard = co_await open->read_some(room); !heard || *heard == 0) break;
        ++by.requests_;
        if (!answer.empty()) static_cast<void>(co_await open->write_all(bytes_of(answer)));
      }
    }
  }

  test_loop* here_;
  std::string last_words_;
  stream_listener listener_;
  std::size_t requests_ = 0;
};

template <typename Server>
auto fetch_from(Server& server, test_loop& here, http_client& client, http_method method = http_method::get)
    -> result<http_client::answer> {
  outcome<result<http_client::answer>> ended = here.run(client.fetch({.method = method, .url = server.url()}));
  return ended.take();
}

}  // namespace

TEST_CASE("a call has the answer, and the next goes over the same connection") {
  client_scene scene;
  for (int i = 0; i < 5; ++i) {
    const auto answer = scene.get("/");
    REQUIRE(answer.has_value());
    CHECK(answer->status == http_status::ok);
    CHECK(answer->body == "hello");
    CHECK(answer->field("content-TYPE") == "text/plain");
    CHECK(scene.client.idle_connections() == 1);
  }
  CHECK(scene.server().counts().accepted == 1);
  CHECK(scene.get("/nowhere")->status == http_status::not_found);
}

TEST_CASE("a client without a resolver says so when a URL names a host") {
  testing::test_loop here;
  http_client client(here.io());
  const auto refused = here.run(client.get("http://somewhere.test/")).take();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == http_errc::no_resolver);
  CHECK(refused.error().message().find("http_client::options::names") != std::string::npos);
}

TEST_CASE("fields and bodies go along, in one piece or in several") {
  client_scene scene;
  CHECK(scene.fetch({.url = scene.url("/user"), .fields = {{"User-Agent", "braid"}}})->body == "braid");
  const auto whole = scene.fetch({.method = http_method::post, .url = scene.url("/"), .body = "abc"});
  CHECK(whole->body == "abc");
  CHECK(whole->field("X-Chunked") == "no");
  int left = 3;
  auto pieces = [&]() -> task<result<std::string>> { co_return left-- > 0 ? "piece" : std::string(); };
  const auto chunked = scene.fetch({.method = http_method::post, .url = scene.url("/"), .pieces = pieces});
  CHECK(chunked->body == "piecepiecepiece");
  CHECK(chunked->field("X-Chunked") == "yes");
  const auto head = scene.fetch({.method = http_method::head, .url = scene.url("/")});
  CHECK(head->field("Content-Length") == "5");
  CHECK(head->body.empty());
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("a server may send while it receives, however much") {
  client_scene scene;
  std::string large(12'000'000, 'x');
  for (std::size_t at = 0; at < large.size(); at += 1'000) large[at] = static_cast<char>('a' + at / 1'000 % 26);
  const auto whole = scene.fetch({.method = http_method::post, .url = scene.url("/echo"), .body = large});
  REQUIRE(whole.has_value());
  CHECK(whole->body == large);
  std::size_t sent = 0;
  auto pieces = [&]() -> task<result<std::string>> {
    std::string piece = large.substr(sent, 300'000);
    sent += piece.size();
    co_return piece;
  };
  const auto chunked = scene.fetch({.method = http_method::post, .url = scene.url("/echo"), .pieces = pieces});
  REQUIRE(chunked.has_value());
  CHECK(chunked->body == large);
  CHECK(scene.client.idle_connections() == 0);  // a server that begins to answer before it has all does not stay
}

TEST_CASE("a connection is used again after a long call that was answered when all of it had come") {
  client_scene scene;
  const std::string large(5'000'000, 'x');
  for (int i = 0; i < 3; ++i) {
    const auto answer = scene.fetch({.method = http_method::post, .url = scene.url("/"), .body = large});
    REQUIRE(answer.has_value());
    CHECK(answer->body == large);
    CHECK(scene.client.idle_connections() == 1);
  }
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("an answer that comes before the call was sent is the answer") {
  client_scene scene;
  const std::string large(12'000'000, 'x');
  const auto whole = scene.fetch({.method = http_method::post, .url = scene.url("/no"), .body = large});
  REQUIRE(whole.has_value());
  CHECK(whole->status == http_status::content_too_large);
  CHECK(whole->body == "too much");
  auto endless = [&]() -> task<result<std::string>> { co_return std::string(100'000, 'x'); };
  const auto cut = scene.fetch({.method = http_method::post, .url = scene.url("/no"), .pieces = endless});
  REQUIRE(cut.has_value());
  CHECK(cut->status == http_status::content_too_large);
  bool ended = false;
  auto patient = [&]() -> task<result<std::string>> {
    const struct at_end {
      bool* told;
      ~at_end() { *told = true; }
    } mark{&ended};
    event never;
    co_await never;
    co_return std::string();
  };
  const auto early = scene.fetch({.method = http_method::post, .url = scene.url("/no"), .pieces = patient});
  REQUIRE(early.has_value());
  CHECK(early->body == "too much");
  CHECK(ended);
  CHECK(scene.client.idle_connections() == 0);  // what is half sent is not used again
}

TEST_CASE("a connection over which a call was not sent to its end is not used again, though the server keeps it") {
  test_loop here;
  const std::string refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno";
  const std::string welcome = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const std::string redirect = "HTTP/1.1 304 Not Modified\r\n\r\n";
  liar server(here, {refusal, refusal, redirect, welcome}, liar::afterwards::keeps);
  http_client client(here.io(), testing::tested(http_client::options()));
  bool is_first = true;
  auto pieces = [&]() -> task<result<std::string>> {
    if (std::exchange(is_first, false)) co_return "part";
    event never;
    co_await never;
    co_return std::string();
  };
  http_client::call endless{.method = http_method::post, .url = server.url(), .pieces = pieces};
  http_client::call large{.method = http_method::post, .url = server.url(), .body = std::string(16'000'000, 'x')};
  for (const http_client::call& call : {endless, large}) {
    const auto answer = here.run(client.fetch(call)).take();
    REQUIRE(answer.has_value());
    CHECK(answer->body == "no");
    CHECK(client.idle_connections() == 0);
  }
  is_first = true;
  const auto unchanged = here.run(client.fetch(endless)).take();  // the first status that ends what is being sent
  REQUIRE(unchanged.has_value());
  CHECK(unchanged->status == http_status::not_modified);
  CHECK(client.idle_connections() == 0);
  CHECK(fetch_from(server, here, client)->body == "ok");
  CHECK(client.idle_connections() == 1);
  CHECK(server.connections() == 4);
}

TEST_CASE("a connection that dies while a call is sent, and says why, has said why") {
  test_loop here;
  liar server(here, {"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno", ""});
  http_client client(here.io(), testing::tested(http_client::options()));
  auto endless = [&]() -> task<result<std::string>> { co_return std::string(100'000, 'x'); };
  http_client::call call{.method = http_method::post, .url = server.url(), .pieces = endless};
  const auto answer = here.run(client.fetch(call)).take();
  REQUIRE(answer.has_value());
  CHECK(answer->body == "no");
  CHECK_FALSE(here.run(client.fetch(call)).take().has_value());  // and a silent server has not
}

TEST_CASE("pieces that fail or throw end the call, whatever the server says") {
  client_scene scene;
  for (const std::string_view path : {"/", "/echo"}) {
    int left = 2;
    auto fails = [&]() -> task<result<std::string>> {
      if (left-- > 0) co_return "piece";
      co_return fail(errc::full);
    };
    CHECK(scene.fetch({.method = http_method::post, .url = scene.url(path), .pieces = fails}).error() == errc::full);
    auto throws = [&]() -> task<result<std::string>> { throw std::runtime_error("no piece"); };
    http_client::call call{.method = http_method::post, .url = scene.url(path), .pieces = throws};
    CHECK_THROWS_AS(static_cast<void>(scene.fetch(call)), std::runtime_error);
    CHECK(scene.client.idle_connections() == 0);
  }
  CHECK(scene.get("/")->body == "hello");
}

TEST_CASE("connections that nobody uses are closed by time alone") {
  client_scene scene({.idle_timeout = 30s});
  const auto two = [&]() -> task<void> {
    auto both = when_all(scene.client.get(scene.url("/")), scene.client.get(scene.url("/")));
    static_cast<void>(co_await std::move(both));
  };
  CHECK(scene.here.run(two()).has_value());
  CHECK(scene.client.idle_connections() == 2);
  scene.here.advance(20s);
  CHECK(scene.get("/")->body == "hello");  // keeps one of them for longer
  scene.here.advance(9s);
  CHECK(scene.client.idle_connections() == 2);
  scene.here.advance(2s);
  CHECK(scene.client.idle_connections() == 1);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 1; }));
  scene.here.advance(20s);
  CHECK(scene.client.idle_connections() == 0);
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 0; }));
  CHECK(scene.get("/")->body == "hello");
  CHECK(scene.client.idle_connections() == 1);
}

TEST_CASE("what would smuggle something into a request is not sent") {
  client_scene scene;
  CHECK(scene.fetch({.url = scene.url("/"), .fields = {{"X", "a\r\nY: b"}}}).error() == http_errc::bad_field);
  CHECK(scene.fetch({.url = scene.url("/"), .fields = {{"Host", "b"}}}).error() == http_errc::reserved_field);
  CHECK(scene.get("/ HTTP/1.1\r\nX: y").error() == http_errc::bad_url);
  CHECK(scene.fetch({.url = "ftp://a/"}).error() == http_errc::bad_url);
  CHECK(scene.server().counts().accepted == 0);
}

TEST_CASE("a body is read piece by piece, and given up it closes the connection") {
  client_scene scene;
  auto read = [&](std::size_t max_count) -> task<std::size_t> {
    http_client::call call{.url = scene.url("/pieces")};
    auto opened = co_await scene.client.open(std::move(call));
    REQUIRE(opened.has_value());
    CHECK(opened->head().status == http_status::ok);
    std::size_t size = 0;
    while (size < max_count) {
      const auto piece = co_await opened->read_some();
      REQUIRE(piece.has_value());
      if (piece->empty()) break;
      size += piece->size();
    }
    co_return size;
  };
  CHECK(scene.here.run(read(1'000'000)).take() == 100'000);
  CHECK(scene.client.idle_connections() == 1);
  scene.here.run(read(1)).take();
  CHECK(scene.client.idle_connections() == 0);
}

TEST_CASE("a body that is given up where it has not all come closes the connection") {
  client_scene scene;
  auto read_part = [&]() -> task<std::string> {
    http_client::call call{.url = scene.url("/part")};
    auto opened = co_await scene.client.open(std::move(call));
    const auto piece = co_await opened->read_some();
    co_return std::string(*piece);
  };
  CHECK(scene.here.run(read_part()).take() == "part");
  CHECK(scene.client.idle_connections() == 0);
}

TEST_CASE("an answer that was read to its end takes no connection, though somebody holds it") {
  client_scene scene({.connections_per_host = 1});
  auto hold_and_ask = [&]() -> task<std::string> {
    http_client::call call{.url = scene.url("/pieces")};
    auto held = co_await scene.client.open(std::move(call));
    for (bool more = true; more;) {
      const auto piece = co_await held->read_some();
      more = piece && !piece->empty();
    }
    const auto answer = co_await scene.client.get(scene.url("/"));
    co_return answer->body;
  };
  CHECK(scene.here.run(hold_and_ask()).take() == "hello");
  CHECK(scene.server().counts().accepted == 1);
}

TEST_CASE("redirects are followed where the options say so, and not without end") {
  {
    client_scene off;
    CHECK(off.get("/moved")->status == http_status::found);
  }
  client_scene on({.redirects = 3});
  const auto answer = on.get("/moved");
  REQUIRE(answer.has_value());
  CHECK(answer->body == "nobody");
  CHECK(answer->url == on.url("/user"));
  CHECK(on.get("/cycle").error() == http_errc::too_many_redirects);
}

TEST_CASE("credentials do not follow a redirect to another host") {
  client_scene other;
  test_loop& here = other.here;
  liar server(here, {"HTTP/1.1 302 Found\r\nLocation: " + other.url("/user") + "\r\nContent-Length: 0\r\n\r\n"});
  http_client client(here.io(), testing::tested(http_client::options{.redirects = 1}));
  http_client::call call{.url = server.url(), .fields = {{"Authorization", "secret"}, {"User-Agent", "kept"}}};
  outcome<result<http_client::answer>> ended = here.run(client.fetch(std::move(call)));
  CHECK(ended.take()->body == "kept");
  liar other_server(here,
                    {"HTTP/1.1 302 Found\r\nLocation: " + other.url("/secret") + "\r\nContent-Length: 0\r\n\r\n"});
  http_client::call secret{.url = other_server.url(), .fields = {{"authorization", "secret"}}};
  CHECK(here.run(client.fetch(std::move(secret))).take()->body == "none");
  liar third_server(here,
                    {"HTTP/1.1 302 Found\r\nLocation: " + other.url("/secret") + "\r\nContent-Length: 0\r\n\r\n"});
  http_client::call biscuit{.url = third_server.url(), .fields = {{"cookie", "secret"}}};
  CHECK(here.run(client.fetch(std::move(biscuit))).take()->body == "none");
  http_client::call direct_cookie{.url = other.url("/secret"), .fields = {{"Cookie", "biscuit"}}};
  CHECK(here.run(client.fetch(std::move(direct_cookie))).take()->body == "biscuit");
  http_client::call direct{.url = other.url("/secret"), .fields = {{"Authorization", "secret"}}};
  CHECK(here.run(client.fetch(std::move(direct))).take()->body == "secret");
}

TEST_CASE("a connection that died while it was free is replaced") {
  test_loop here;
  const std::string fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
  liar server(here, {fine + "ok", fine + "ok"});
  http_client client(here.io(), testing::tested(http_client::options()));
  CHECK(fetch_from(server, here, client)->body == "ok");
  here.run_once(20);
  CHECK(fetch_from(server, here, client, http_method::post)->body == "ok");
  CHECK(server.connections() == 2);
  CHECK(server.requests() == 2);
}

TEST_CASE("a call is sent again where a used connection died without a word, unless it may not be repeated") {
  for (const http_method method : {http_method::get, http_method::put, http_method::post, http_method::patch}) {
    INFO(name_of(method));
    test_loop here;
    deserter server(here, "");
    http_client client(here.io(), testing::tested(http_client::options()));
    REQUIRE(fetch_from(server, here, client).has_value());
    const bool may_be_repeated = method == http_method::get || method == http_method::put;
    CHECK(fetch_from(server, here, client, method).has_value() == may_be_repeated);
    CHECK(server.requests() == (may_be_repeated ? 3 : 2));
  }
}

TEST_CASE("a call that got the beginning of an answer is not sent again") {
  test_loop here;
  deserter server(here, "HTTP/1.1 2");
  http_client client(here.io(), testing::tested(http_client::options()));
  REQUIRE(fetch_from(server, here, client).has_value());
  CHECK(fetch_from(server, here, client).error() == http_errc::truncated);
  CHECK(server.requests() == 2);
}

TEST_CASE("a connection that the server will close is not kept") {
  for (const std::string end : {"Connection: close\r\n", "Connection: x, Close\r\n"}) {
    test_loop here;
    deserter server(here, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + end + "\r\nok");
    http_client client(here.io(), testing::tested(http_client::options()));
    REQUIRE(fetch_from(server, here, client).has_value());
    CHECK(client.idle_connections() == 1);
    CHECK(fetch_from(server, here, client)->body == "ok");
    CHECK(client.idle_connections() == 0);
  }
}

TEST_CASE("a call over a new connection that dies is not repeated") {
  test_loop here;
  liar server(here, {"", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  http_client client(here.io(), testing::tested(http_client::options()));
  CHECK_FALSE(fetch_from(server, here, client).has_value());
  CHECK(server.requests() == 1);
}

TEST_CASE("answers that lie are errors, and their connection is not used again") {
  const std::vector<std::pair<std::string, http_errc>> lies{
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", http_errc::truncated},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", http_errc::truncated},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", http_errc::bad_length},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", http_errc::bad_chunk},
      {"HTTP/1.1 101 Switching Protocols\r\n\r\n", http_errc::too_many_responses},
      {"garbage\r\n\r\n", http_errc::bad_start_line},
      {"HTTP/1.1 200", http_errc::truncated}};
  for (const auto& [text, error] : lies) {
    INFO(text);
    test_loop here;
    liar server(here, {text});
    http_client client(here.io(), testing::tested(http_client::options()));
    const auto answer = fetch_from(server, here, client);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error() == error);
    CHECK(client.idle_connections() == 0);
  }
}

TEST_CASE("informational answers are passed over, and what follows an answer ends the connection") {
  test_loop here;
  std::string hints;
  for (int i = 0; i < 3; ++i) hints += "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  liar server(here, {hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n"});
  http_client client(here.io(), testing::tested(http_client::options()));
  CHECK(fetch_from(server, here, client)->body == "ok");
  CHECK(client.idle_connections() == 0);
  std::string endless;
  for (int i = 0; i < 20; ++i) endless += "HTTP/1.1 103 Early Hints\r\n\r\n";
  liar other(here, {endless});
  CHECK(fetch_from(other, here, client).error() == http_errc::too_many_responses);
  std::string most;
  for (int i = 0; i < 8; ++i) most += "HTTP/1.1 103 Early Hints\r\n\r\n";
  const std::string last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  liar eight(here, {most + last});
  CHECK(fetch_from(eight, here, client)->body == "ok");
  liar nine(here, {most + "HTTP/1.1 103 Early Hints\r\n\r\n" + last});
  CHECK(fetch_from(nine, here, client).error() == http_errc::too_many_responses);
}

TEST_CASE("a deadline ends a call and closes its connection") {
  client_scene scene;
  auto limited = [&]() -> task<result<http_client::answer>> {
    task<result<http_client::answer>> call = scene.client.fetch({.url = scene.url("/never")});
    co_return co_await with_timeout(1s, std::move(call));
  };
  auto ended = scene.here.run_through(limited(), 10ms);
  CHECK(ended.take().error() == errc::deadline_exceeded);
  CHECK(scene.client.idle_connections() == 0);
}

TEST_CASE("calls beyond the limit of a host wait for a connection") {
  client_scene scene({.connections_per_host = 2});
  auto all = [&]() -> task<int> {
    std::vector<task<result<http_client::answer>>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(scene.client.fetch({.url = scene.url("/")}));
    int fine = 0;
    for (const auto& answer : co_await when_all(std::move(calls))) fine += answer && answer->body == "hello" ? 1 : 0;
    co_return fine;
  };
  CHECK(scene.here.run(all()).take() == 20);
  CHECK(scene.server().counts().accepted == 2);
}

TEST_CASE("a limit of connections that nobody reaches is no limit") {
  client_scene scene({.connections_per_host = std::numeric_limits<std::size_t>::max()});
  for (int i = 0; i < 2; ++i) CHECK(scene.here.run(scene.client.get(scene.url("/"))).take()->body == "hello");
  CHECK(scene.client.idle_connections() == 1);
}

TEST_CASE("nobody there is an error of the system, a name needs a resolver") {
  test_loop here;
  http_client client(here.io(), testing::tested(http_client::options()));
  outcome<result<http_client::answer>> nobody = here.run(client.get("http://127.0.0.1:1/"));
  CHECK(nobody.take().error() == std::errc::connection_refused);
  outcome<result<http_client::answer>> nameless = here.run(client.get("http://example.org/"));
  CHECK_FALSE(nameless.take().has_value());
}
