// tests/net/websocket_test.cpp: WebSockets of a server: the handshake, messages, limits, deadlines, and the end.
#include <braid/net/websocket.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;
using testing::http_scene;

namespace {

constexpr std::string_view handshake =
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

/// A frame of a client; the mask of zeros leaves the payload readable.
auto frame(int first, std::string_view payload) -> std::string {
  std::string out{static_cast<char>(first)};
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else {
    out += '\xfe';
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size());
  }
  return out.append(4, '\0').append(payload);
}
auto text(std::string_view payload) -> std::string { return frame(0x81, payload); }
auto closes(std::uint16_t code) -> std::string {
  return frame(0x88, std::string{static_cast<char>(code >> 8), static_cast<char>(code)});
}
/// The same as a server sends it.
auto closed(std::uint16_t code) -> std::string {
  return std::string("\x88\x02").append({static_cast<char>(code >> 8), static_cast<char>(code)});
}

/// A server whose only route is a WebSocket, and one client.
class socket_scene {
 public:
  using body = std::function<task<void>(websocket&)>;

  explicit socket_scene(body serve, websocket_options options = {}, http_server::options server = {})
      : serve_(std::move(serve)), options_(std::move(options)) {
    routes_.get("/", [this](http_exchange& x) -> task<void> {
      auto socket = x.websocket(options_, serve_);
      ended = co_await std::move(socket);
    });
    server.on_error = [this](const std::exception_ptr&) { ++failures; };
    scene.emplace(routes_, std::move(server));
    client = scene->talker();
  }

  void open() {
    client->say(std::string(handshake) + "\r\n");
    REQUIRE(client->hears("\r\n\r\n"));
    CHECK(client->heard().starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    CHECK(client->heard().find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != std::string::npos);
    forget(client->heard().find("\r\n\r\n") + 4);
  }
  /// What the server has sent after the handshake.
  [[nodiscard]] auto heard() const -> std::string { return client->heard().substr(known_); }
  void forget() { forget(client->heard().size()); }
  void advance(int seconds) {
    for (; seconds > 0; --seconds) scene->here.advance(1s);
  }

 private:
  void forget(std::size_t known) noexcept { known_ = known; }

  std::size_t known_ = 0;
  http_router routes_;
  body serve_;
  websocket_options options_;

 public:
  std::optional<result<void>> ended;
  int failures = 0;
  std::optional<http_scene> scene;
  std::unique_ptr<testing::http_talker> client;
};

auto echo(websocket& socket) -> task<void> {
  for (;;) {
    const auto got = co_await socket.receive();
    if (!got || !*got) co_return;
    const std::string copy((*got)->data);
    const bool is_text = (*got)->is_text;
    if (is_text)
      static_cast<void>(co_await socket.send_text(copy));
    else
      static_cast<void>(co_await socket.send_binary(copy));
  }
}

}  // namespace

TEST_CASE("messages are echoed, pings are answered, and a close is answered with its code") {
  socket_scene all(echo);
  all.open();
  all.client->say(text("hello") + frame(0x82, "bytes") + frame(0x89, "?") + frame(0x01, "a") + frame(0x80, "b"));
  REQUIRE(all.client->hears("ab"));
  CHECK(all.heard() ==
        "\x81\x05hello\x82\x05"
        "bytes\x8a\x01?\x81\x02"
        "ab");
  CHECK(all.scene->server().counts().websockets == 1);
  CHECK(all.scene->server().counts().websocket_messages == 3);
  all.forget();
  all.client->say(closes(4000));
  REQUIRE(all.client->hears_end());
  CHECK(all.heard() == closed(4000));
  REQUIRE(all.ended);
  CHECK(all.ended->has_value());
  CHECK(all.scene->server().counts().websockets == 0);
  CHECK(all.failures == 0);
}

TEST_CASE("frames may follow the handshake in the same packet") {
  socket_scene all(echo);
  all.client->say(std::string(handshake) + "\r\n" + text("early"));
  CHECK(
      all.client->hears("\r\n\r\n\x81\x05"
                        "early"));
}

TEST_CASE("a body that came with the handshake is not taken for frames") {
  socket_scene all(echo);
  all.client->say(std::string(handshake) + "Content-Length: 3\r\n\r\nabc" + text("frame"));
  CHECK(
      all.client->hears("\r\n\r\n\x81\x05"
                        "frame"));
}

TEST_CASE("a request that is no handshake is refused") {
  struct row {
    const char* what;
    std::string request;
    const char* status;
  };
  const auto without = [](std::string_view field, std::string_view instead = "") {
    std::string out(handshake);
    const std::size_t at = out.find(field);
    return out.replace(at, out.find("\r\n", at) + 2 - at, instead) + "\r\n";
  };
  const std::vector<row> rows{
      {"no upgrade", without("Upgrade: websocket"), "426"},
      {"another protocol", without("Upgrade: websocket", "Upgrade: h2c\r\n"), "426"},
      {"a connection without it", without("Connection:", "Connection: keep-alive\r\n"), "426"},
      {"no version", without("Sec-WebSocket-Version"), "426"},
      {"another version", without("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8\r\n"), "426"},
      {"HTTP/1.0", "GET / HTTP/1.0\r\n" + without("GET "), "426"},
      {"no key", without("Sec-WebSocket-Key"), "400"},
      {"a short key", without("Sec-WebSocket-Key", "Sec-WebSocket-Key: dGhl\r\n"), "400"},
      {"a key that is not base64", without("Sec-WebSocket-Key", "Sec-WebSocket-Key: dGhl*HNhbXBsZSBub25jZQ==\r\n"),
       "400"},
      {"a body that has not arrived", std::string(handshake) + "Content-Length: 5\r\n\r\n1234", "400"},
      {"a body in chunks", std::string(handshake) + "Transfer-Encoding: chunked\r\n\r\n", "400"},
      {"two keys", std::string(handshake) + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", "400"},
  };
  for (const row& each : rows) {
    CAPTURE(each.what);
    socket_scene all(echo);
    all.client->say(each.request);
    REQUIRE(all.client->hears("\r\n\r\n"));
    CHECK(all.client->heard().substr(9, 3) == each.status);
    REQUIRE(all.ended);
    CHECK(all.ended->error() == std::errc::protocol_error);
    if (std::string_view(each.status) == "426") CHECK(all.client->hears("Sec-WebSocket-Version: 13\r\n"));
  }
}

TEST_CASE("the first protocol of the client that the server has is chosen") {
  std::string chosen;
  const auto serve = [&](websocket& socket) -> task<void> {
    chosen = socket.protocol();
    co_return;
  };
  socket_scene all(serve, {.protocols = {"one", "two"}});
  all.client->say(std::string(handshake) + "Sec-WebSocket-Protocol: zero, two\r\nSec-WebSocket-Protocol: one\r\n\r\n");
  REQUIRE(all.client->hears("\r\n\r\n"));
  CHECK(all.client->heard().find("Sec-WebSocket-Protocol: two\r\n") != std::string::npos);
  CHECK(chosen == "two");
}

TEST_CASE("violations end the connection with their code") {
  struct row {
    const char* what;
    std::string frames;
    std::uint16_t code;
  };
  const std::vector<row> rows{
      {"no mask",
       std::string("\x81\x01"
                   "a"),
       1002},
      {"not UTF-8", text("\xff"), 1007},
      {"too large", text(std::string(200, 'x')), 1009},
      {"a part of nothing", frame(0x80, "a"), 1002},
      {"a code that is not allowed", closes(1005), 1002},
  };
  for (const row& each : rows) {
    CAPTURE(each.what);
    std::error_code error;
    const auto serve = [&](websocket& socket) -> task<void> {
      const auto got = co_await socket.receive();
      REQUIRE(!got);
      error = got.error();
    };
    socket_scene all(serve, {.max_message = 100});
    all.open();
    all.client->say(each.frames);
    REQUIRE(all.client->hears_end());
    CHECK(all.heard() == closed(each.code));
    CHECK(error == std::errc::protocol_error);
    CHECK(all.failures == 0);
  }
}

TEST_CASE("the server closes, and waits for the answer of the client, but not for ever") {
  const auto serve = [](websocket& socket) -> task<void> {
    CHECK((co_await socket.close(4001, "done")).has_value());
    const result<void> late = co_await socket.send_text("late");
    REQUIRE(!late);
    CHECK(late.error() == errc::finished);
  };
  socket_scene all(serve, {}, {.linger_timeout = 2s});
  all.open();
  REQUIRE(all.client->hears("done"));
  CHECK(all.heard() == std::string("\x88\x06\x0f\xa1"
                                   "done"));
  CHECK(!all.ended);
  SUBCASE("an answer") { all.client->say(closes(4001)); }
  SUBCASE("none") { all.advance(3); }
  CHECK(all.ended);
}

TEST_CASE("a handler that ends closes the connection with 1000, and one that fails with 1011") {
  SUBCASE("it ends") {
    socket_scene all([](websocket&) -> task<void> { co_return; });
    all.open();
    CHECK(all.client->hears(closed(1000)));
    CHECK(all.failures == 0);
  }
  SUBCASE("it fails") {
    socket_scene all([](websocket&) -> task<void> {
      throw std::runtime_error("no luck");
      co_return;
    });
    all.open();
    CHECK(all.client->hears(closed(1011)));
    all.client->say(closes(1011));
    REQUIRE(all.client->hears_end());
    CHECK(all.failures == 1);
  }
}

TEST_CASE("what must not be sent is refused") {
  const auto serve = [](websocket& socket) -> task<void> {
    CHECK((co_await socket.send_text("\xff")).error() == errc::invalid_argument);
    CHECK((co_await socket.close(1005)).error() == errc::invalid_argument);
    CHECK((co_await socket.close(1000, "\xff")).error() == errc::invalid_argument);
  };
  socket_scene all(serve);
  all.open();
  CHECK(all.client->hears(closed(1000)));
  CHECK(all.heard() == closed(1000));
}

TEST_CASE("a client that answers pings stays, and one that is silent is cut") {
  std::optional<std::error_code> error;
  const auto serve = [&](websocket& socket) -> task<void> {
    for (;;) {
      const auto got = co_await socket.receive();
      if (got) continue;
      error = got.error();
      co_return;
    }
  };
  socket_scene all(serve, {.ping_interval = 20s}, {.body_timeout = 60s});
  all.open();
  for (int round = 0; round < 5; ++round) {
    all.advance(21);
    CHECK(all.heard() == std::string("\x89\0", 2));
    all.forget();
    all.client->say(frame(0x8a, ""));
  }
  CHECK(!error);
  all.advance(62);
  REQUIRE(error);
  CHECK(*error == http_errc::too_slow);
}

TEST_CASE("a connection that is lost in the middle is an error, and a server that stops says so") {
  SUBCASE("lost") {
    std::optional<std::error_code> error;
    const auto serve = [&](websocket& socket) -> task<void> { error = (co_await socket.receive()).error(); };
    socket_scene all(serve);
    all.open();
    all.client->finish();
    REQUIRE(all.scene->here.run_until([&] { return error.has_value(); }));
    CHECK(*error == http_errc::truncated);
  }
  SUBCASE("stopped") {
    socket_scene all(echo);
    all.open();
    all.scene->stop(30s);
    all.advance(2);
    CHECK(all.heard() == closed(1001));
    all.client->say(closes(1001));
    CHECK(all.client->hears_end());
    CHECK(all.failures == 0);
  }
}

TEST_CASE("several tasks may send") {
  const auto serve = [](websocket& socket) -> task<void> {
    auto many = [&socket](char letter) -> task<void> {
      const std::string message(20'000, letter);
      for (int i = 0; i < 5; ++i) CHECK((co_await socket.send_text(message)).has_value());
    };
    auto both = when_all(many('a'), many('b'));
    co_await std::move(both);
  };
  socket_scene all(serve);
  all.open();
  CHECK(all.client->hears(closed(1000)));
  CHECK(all.heard().size() == 10 * 20'004 + 4);
}
