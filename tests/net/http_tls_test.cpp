// tests/net/http_tls_test.cpp: HTTP over TLS: verification of peers, slow handshakes, and connections that are cut.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/task/executors.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>

using namespace braid;
using testing::http_scene;
using testing::make_certificate;
using testing::test_loop;
using testing::tls_people;

namespace {

auto hello_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.get("/last", [](http_exchange& x) {
    static_cast<void>(x.set_field("X", "y"));
    x.reply(http_status::ok, "text/plain", "last");
  });
  return routes;
}

auto server_as(const testing::certified& who) -> tls_context {
  tls_context::server_options how;
  how.identity = testing::read_identity(who);
  return testing::server_context(how);
}

auto with_tls(http_server::options how = {}) -> http_server::options {
  if (!how.tls) how.tls = testing::tested_server_context();
  return how;
}

auto trusting() -> http_client::options {
  http_client::options how;
  how.tls = testing::tested_client_context();
  return how;
}

/// A server over TLS, and a client that knows it.
struct tls_scene : http_scene {
  explicit tls_scene(http_server::options how = {}, http_client::options asking = trusting())
      : http_scene(routes, with_tls(std::move(how))), client(here.io(), std::move(asking)) {}

  [[nodiscard]] auto url(std::string_view scheme = "https", std::string_view host = "127.0.0.1") const -> std::string {
    return std::string(scheme) + "://" + std::string(host) + ":" + std::to_string(address().port()) + "/";
  }
  auto get(const std::string& from) -> result<http_client::answer> {
    outcome<result<http_client::answer>> ended = here.run(client.get(from));
    return ended.take();
  }
  auto get() -> result<http_client::answer> { return get(url()); }
  [[nodiscard]] auto counts() -> http_server::totals { return server().counts(); }
  /// A connection that the server waits for to shake hands.
  auto silent() -> testing::plain_peer {
    const std::size_t before = counts().handshakes;
    auto peer = testing::plain_peer::connected_to(address());
    CHECK(here.run_until([&] { return counts().handshakes > before; }));
    return peer;
  }

  static inline const http_router routes = hello_routes();
  http_client client;
};

/// A server that says one text for each connection, and then ends it with or without a notice, or waits.
class teller {
 public:
  enum class ending { cut, told, none };

  teller(test_loop& here, std::string text, ending how) : here_(&here), text_(std::move(text)), how_(how) {
    listener_ = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
    here.io().spawn(serve(*this));
    here.run_once();
  }
  teller(const teller&) = delete;
  auto operator=(const teller&) -> teller& = delete;
  ~teller() { here_->stop(); }

  [[nodiscard]] auto url() const -> std::string {
    return "https://" + listener_.local_address().value().to_string() + "/";
  }
  [[nodiscard]] auto connections() const noexcept -> int { return connections_; }
  /// How the clients have ended those connections that are over: 0 with a notice, else an error.
  [[nodiscard]] auto ends() const noexcept -> const std::vector<result<std::size_t>>& { return ends_; }

 private:
  static auto serve(teller& by) -> task<void> {
    for (;;) {
      auto socket = co_await by.listener_.accept();
      if (!socket) co_return;
      ++by.connections_;
      auto shaking = tls_stream::accept(testing::tested_server_context(), std::move(*socket));
      const auto stream = co_await std::move(shaking);
      if (!stream) continue;
      std::array<std::byte, 4096> room{};
      if (const auto heard = co_await stream->read_some(room); !heard || *heard == 0) continue;
      static_cast<void>(co_await stream->write_all(bytes_of(by.text_)));
      if (by.how_ == ending::told) static_cast<void>(co_await stream->shutdown());
      if (by.how_ == ending::cut) static_cast<void>(stream->socket().shutdown(stream_socket::side::write));
      result<std::size_t> more = 1;
      while (more && *more > 0) more = co_await stream->read_some(room);
      by.ends_.push_back(more);
    }
  }

  test_loop* here_;
  std::string text_;
  ending how_;
  stream_listener listener_;
  int connections_ = 0;
  std::vector<result<std::size_t>> ends_;
};

auto told(std::string text, teller::ending how) -> result<http_client::answer> {
  test_loop here;
  teller server(here, std::move(text), how);
  http_client client(here.io(), trusting());
  return here.run(client.get(server.url())).take();
}

}  // namespace

TEST_CASE("calls over TLS share a connection, and the next connection resumes the session") {
  tls_scene scene;
  for (int i = 0; i < 3; ++i) {
    const auto answer = scene.get();
    REQUIRE(answer.has_value());
    CHECK(answer->body == "hello");
  }
  CHECK(scene.counts().accepted == 1);
  CHECK(scene.counts().resumed == 0);
  scene.here.advance(31s);  // the connection is too old for the client
  CHECK(scene.get()->body == "hello");
  CHECK(scene.counts().accepted == 2);
  CHECK(scene.counts().resumed == 1);
  CHECK(scene.counts().failed_handshakes == 0);
}

TEST_CASE("a server that cannot be believed gets no request") {
  const auto& authority = tls_people::known().authority;
  const std::vector<std::pair<testing::certified, std::error_code>> liars{
      {make_certificate({.name = "nobody"}), tls_errc::self_signed},
      {make_certificate({.name = "other", .hosts = "DNS:elsewhere"}, &authority), tls_errc::wrong_address},
      {make_certificate({.name = "old", .from = -7200, .until = -3600}, &authority), tls_errc::certificate_expired}};
  for (const auto& [who, error] : liars) {
    INFO(error.message());
    tls_scene scene({.tls = server_as(who)});
    const auto answer = scene.get();
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error() == error);
    CHECK(scene.client.idle_connections() == 0);
    CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes + scene.counts().accepted == 2; }));
    CHECK(scene.counts().requests == 0);
  }
}

TEST_CASE("without a word about trust it is the system's authorities who are believed") {
  tls_scene scene({}, {});
  CHECK(scene.get().error() == tls_errc::unknown_issuer);
  CHECK(scene.counts().requests == 0);
}

TEST_CASE("the authorities of the system are read once, and the loop goes on meanwhile") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const testing::scratch_folder folder;
  const std::string authorities = (folder.path() / "authorities").string();
  REQUIRE(::mkfifo(authorities.c_str(), 0600) == 0);  // a reader of it waits for a writer
  const testing::environment file("SSL_CERT_FILE", authorities.c_str());
  const testing::environment none("SSL_CERT_DIR", (folder.path() / "none").c_str());
  tls_scene scene({}, {.http2 = {.use = http_client::http2_use::never}});  // the calls do not wait for each other
  atomic<bool> goes_on{false};
  bool went_on = false;
  std::thread writer([&] {
    went_on = testing::eventually([&] { return goes_on.load(relaxed); });
    std::ofstream(authorities) << tls_people::known().authority.certificate;
  });
  int over = 0;
  int answered = 0;
  auto ask = [&]() -> task<void> {
    const auto answer = co_await scene.client.get(scene.url());
    if (answer && answer->body == "hello") ++answered;
    ++over;
  };
  for (int i = 0; i < 2; ++i) scene.here.io().spawn(ask());
  CHECK(scene.here.run_until([&] { return scene.counts().handshakes == 2; }));
  scene.here.run_once(100);
  CHECK(over == 0);
  goes_on.store(true, relaxed);
  CHECK(scene.here.run_until([&] { return over == 2; }));
  writer.join();
  CHECK(went_on);
  CHECK(answered == 2);
}

TEST_CASE("a name is resolved, told to the server, and checked") {
  testing::manual_executor blocking;
  tls_scene scene;
  resolver names(scene.here.io(), blocking, {.lookup = [](const std::string& host) -> result<socket_address::list> {
                   if (host == "nowhere.example") return fail(errc::unknown_host);
                   return socket_address::list{socket_address::loopback(0)};
                 }});
  auto asking = trusting();
  asking.names = &names;
  http_client client(scene.here.io(), asking);
  const auto get = [&](std::string_view host) {
    outcome<result<http_client::answer>> ended;
    bool over = false;
    auto ask = [&]() -> task<void> {
      ended = co_await as_outcome(client.get(scene.url("https", host)));
      over = true;
    };
    scene.here.io().spawn(ask());
    CHECK(scene.here.run_until([&] {
      blocking.run_all();
      return over;
    }));
    return ended.take();
  };
  CHECK(get("wrong.example").error() == tls_errc::wrong_host);
  CHECK(get("nowhere.example").error() == errc::unknown_host);
  CHECK(get("localhost")->body == "hello");
}

TEST_CASE("plain HTTP to the port of TLS gets nothing, and holds up nobody") {
  tls_scene scene;
  const auto plain = scene.get(scene.url("http"));
  CHECK_FALSE(plain.has_value());
  CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes == 1; }));
  CHECK(scene.counts().requests == 0);
  CHECK(scene.get()->body == "hello");
}

TEST_CASE("TLS to the port of plain HTTP is an error, and holds up nobody") {
  http_scene scene(tls_scene::routes);
  http_client client(scene.here.io(), trusting());
  const std::string at = scene.address().to_string() + "/";
  const auto secure = scene.here.run(client.get("https://" + at)).take();
  REQUIRE_FALSE(secure.has_value());
  CHECK(secure.error().category() == braid::detail::tls_category());
  CHECK(scene.server().counts().refused == 1);
  CHECK(scene.here.run(client.get("http://" + at)).take()->body == "hello");
}

TEST_CASE("a connection of one scheme is not used for the other") {
  tls_scene scene;
  CHECK(scene.get()->body == "hello");
  CHECK(scene.client.idle_connections() == 1);
  CHECK_FALSE(scene.get(scene.url("http")).has_value());
  CHECK(scene.counts().requests == 1);
  CHECK(scene.get()->body == "hello");
  CHECK(scene.counts().accepted == 2);
}

TEST_CASE("an answer without a length that is cut is an error, and with the notice of its end it is whole") {
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  CHECK(told(head + "part", teller::ending::cut).error() == http_errc::truncated);
  CHECK(told(head, teller::ending::cut).error() == http_errc::truncated);
  const auto whole = told(head + "all of it", teller::ending::told);
  REQUIRE(whole.has_value());
  CHECK(whole->body == "all of it");
}

TEST_CASE("after an answer whose length is known nobody minds a cut") {
  const auto counted = told("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall", teller::ending::cut);
  REQUIRE(counted.has_value());
  CHECK(counted->body == "all");
  const auto chunked =
      told("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n", teller::ending::cut);
  REQUIRE(chunked.has_value());
  CHECK(chunked->body == "all");
  for (const auto how : {teller::ending::cut, teller::ending::told})
    CHECK(told("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nall", how).error() == http_errc::truncated);
}

TEST_CASE(
    "a connection that a client closes ends with the notice: too old, with its client, or after its last answer") {
  test_loop here;
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
  teller keeps(here, answer + "\r\nok", teller::ending::none);
  teller closes(here, answer + "Connection: close\r\n\r\nok", teller::ending::none);
  {
    http_client client(here.io(), trusting());
    CHECK(here.run(client.get(keeps.url())).take()->body == "ok");
    here.advance(29s);
    CHECK(keeps.ends().empty());
    here.advance(2s);
    REQUIRE(here.run_until([&] { return keeps.ends().size() == 1; }));
    CHECK(here.run(client.get(keeps.url())).take()->body == "ok");
    CHECK(here.run(client.get(closes.url())).take()->body == "ok");
    REQUIRE(here.run_until([&] { return closes.ends().size() == 1; }));
    CHECK(closes.ends()[0] == 0);
    REQUIRE(keeps.ends().size() == 1);
    CHECK(keeps.ends()[0] == 0);
  }
  REQUIRE(here.run_until([&] { return keeps.ends().size() == 2; }));
  CHECK(keeps.ends()[1] == 0);
}

TEST_CASE("a call that is given up ends its connection with the notice, unless it is half sent") {
  test_loop here;
  teller silent(here, "", teller::ending::none);
  http_client client(here.io(), trusting());
  auto waiting = with_timeout(1s, client.get(silent.url()));
  CHECK(here.run_through(std::move(waiting), 100ms).take().error() == errc::deadline_exceeded);
  REQUIRE(here.run_until([&] { return silent.ends().size() == 1; }));
  CHECK(silent.ends()[0] == 0);

  http_client::call call{.method = http_method::post, .url = silent.url()};
  call.pieces = []() -> task<result<std::string>> {
    co_await sleep_for(1h);
    co_return std::string();
  };
  auto sending = with_timeout(1s, client.fetch(std::move(call)));
  CHECK(here.run_through(std::move(sending), 100ms).take().error() == errc::deadline_exceeded);
  REQUIRE(here.run_until([&] { return silent.ends().size() == 2; }));
  CHECK_FALSE(silent.ends()[1].has_value());
}

TEST_CASE("what was decrypted behind an answer is not taken for the next one") {
  test_loop here;
  // The answer fills the room that it is read into, so that what follows it stays within TLS.
  std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nX: ";
  answer.resize(2048 - 2000 - 4, 'x');
  answer += "\r\n\r\n" + std::string(2000, 'a');
  teller server(here, answer + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", teller::ending::none);
  http_client client(here.io(), trusting());
  for (int i = 1; i <= 2; ++i) {
    const auto got = here.run(client.get(server.url())).take();
    REQUIRE(got.has_value());
    CHECK(got->body == std::string(2000, 'a'));
    CHECK(server.connections() == i);
  }
}

TEST_CASE("a redirect leads to another path of the same scheme, and not from https to http") {
  http_scene below(tls_scene::routes);
  test_loop& here = below.here;
  const auto leading_to = [](const std::string& where) {
    return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nLocation: " + where + "\r\n\r\n";
  };
  auto how = trusting();
  how.redirects = 2;
  http_client client(here.io(), how);
  teller down(here, leading_to("http://" + below.address().to_string() + "/"), teller::ending::told);
  CHECK(here.run(client.get(down.url())).take()->status == http_status::found);
  CHECK(below.server().counts().requests == 0);
  teller around(here, leading_to("/again"), teller::ending::told);
  CHECK(here.run(client.get(around.url())).take().error() == http_errc::too_many_redirects);
  CHECK(around.connections() == 3);
}

TEST_CASE("slow, silent and senseless handshakes hold up nobody, and end in time") {
  tls_scene scene({.head_timeout = 5s});
  std::vector<testing::plain_peer> peers;
  for (int i = 0; i < 30; ++i) peers.push_back(scene.silent());
  for (int i = 0; i < 10; ++i) peers[i].send(std::string("\x16\x03\x01\x02\x00\x01", 6));  // a record's beginning
  CHECK(scene.get()->body == "hello");
  CHECK(scene.counts().handshakes == 30);
  for (int i = 10; i < 15; ++i) peers[i].send("senseless bytes that are no record of TLS");
  CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes == 5; }));
  for (int i = 15; i < 20; ++i) peers[i].close();
  CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes == 10; }));
  scene.here.advance(4s);
  CHECK(scene.counts().handshakes == 20);
  peers[0].send("\x01");  // a byte more gains nothing
  scene.here.advance(2s);
  CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes == 30; }));
  CHECK(scene.counts().handshakes == 0);
  CHECK(scene.counts().requests == 1);
  CHECK(scene.get()->body == "hello");
}

TEST_CASE("of more handshakes than may be under way the oldest is given up") {
  tls_scene scene({.handshakes = 3});
  std::vector<testing::plain_peer> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(scene.silent());
  CHECK(scene.get()->body == "hello");
  CHECK(scene.counts().failed_handshakes == 1);
  CHECK(peers[0].receive().empty());
  CHECK(scene.counts().handshakes == 2);
}

TEST_CASE("who has not shaken hands makes room where there is none left") {
  tls_scene scene({.connections = 2});
  const auto first = scene.silent();
  const auto second = scene.silent();
  CHECK(scene.get()->body == "hello");
  CHECK(scene.counts().failed_handshakes == 1);
  CHECK(first.receive().empty());
}

TEST_CASE("a stop waits for handshakes as long as for a last word, and then gives them up") {
  tls_scene scene({.linger_timeout = 2s});
  const auto silent = scene.silent();
  scene.stop(10s);
  scene.here.advance(1500ms);
  CHECK_FALSE(scene.is_over());
  CHECK(scene.counts().handshakes == 1);
  scene.here.advance(1s);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  CHECK(scene.counts().handshakes == 0);
  CHECK(silent.receive().empty());
}

TEST_CASE("a handshake that a stop finds under way comes to its end, and what was sent with it is answered") {
  tls_scene scene;
  auto connecting = stream_socket::connect(scene.here.io(), scene.address());
  stream_socket socket = std::move(scene.here.run(std::move(connecting)).take().value());
  CHECK(scene.here.run_until([&] { return scene.counts().handshakes == 1; }));
  scene.stop(10s);
  std::string heard;
  auto talk = [&]() -> task<void> {
    auto shaking = tls_stream::connect(testing::tested_client_context(), std::move(socket), "localhost");
    auto stream = co_await std::move(shaking);
    REQUIRE(stream.has_value());
    static_cast<void>(co_await stream->write_all(bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
    std::array<std::byte, 1000> room{};
    for (;;) {
      const auto got = co_await stream->read_some(room);
      if (!got) heard += got.error().message();
      if (!got || *got == 0) break;
      heard += text_of(std::span(room).first(*got));
    }
    static_cast<void>(co_await stream->shutdown());
  };
  scene.here.run(talk()).take();
  CHECK(heard.ends_with("hello"));
  CHECK(heard.find("Connection: close\r\n") != std::string::npos);
  scene.here.advance(2ms);
  CHECK(scene.here.run_until([&] { return scene.is_over(); }));
}

TEST_CASE("a server that does not shake hands is given up with the time for a connection") {
  test_loop here;
  const auto listener = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
  auto how = trusting();
  how.connect_timeout = 3s;
  http_client client(here.io(), how);
  const time_point begin = here.now();
  auto asking = client.get("https://" + listener.local_address().value().to_string() + "/");
  const auto answer = here.run_through(std::move(asking), 100ms).take();
  CHECK(answer.error() == errc::deadline_exceeded);
  CHECK(here.now() - begin < 4s);
}

TEST_CASE("who agrees on another protocol is not served") {
  for (const std::string protocol : {"h2", "other"}) {
    CAPTURE(protocol);
    tls_context::server_options server = testing::known_server();
    server.protocols = {protocol, "http/1.1"};
    tls_context::client_options client = testing::trusting_client();
    client.protocols = {protocol};
    http_client::options asking;
    asking.tls = testing::client_context(client);
    tls_scene scene({.tls = testing::server_context(server), .http2 = {.enabled = false}}, asking);
    const bool is_spoken = protocol == "h2" && http_server::has_http2();
    const auto refused = scene.get();
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() ==
          (is_spoken ? make_error_code(http_errc::truncated) : make_error_code(tls_errc::no_application_protocol)));
    CHECK(scene.here.run_until([&] { return scene.counts().failed_handshakes == 1; }));
    CHECK(scene.counts().requests == 0);
  }
}

TEST_CASE("an idle connection that the server closes is told so") {
  tls_scene scene({.idle_timeout = 60s});
  auto connecting = stream_socket::connect(scene.here.io(), scene.address());
  stream_socket socket = std::move(scene.here.run(std::move(connecting)).take().value());
  result<std::size_t> end = fail(errc::stopped);
  bool answered = false;
  bool over = false;
  auto talk = [&]() -> task<void> {
    auto shaking = tls_stream::connect(testing::tested_client_context(), std::move(socket), "localhost");
    auto stream = co_await std::move(shaking);
    REQUIRE(stream.has_value());
    static_cast<void>(co_await stream->write_all(bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
    std::array<std::byte, 1000> room{};
    const auto got = co_await stream->read_some(room);
    answered = got && *got > 0;
    end = co_await stream->read_some(room);
    over = true;
  };
  scene.here.io().spawn(talk());
  REQUIRE(scene.here.run_until([&] { return answered; }));
  scene.here.advance(61s);
  REQUIRE(scene.here.run_until([&] { return over; }));
  CHECK(end == 0);
}

namespace {

// clang-format off: a page shows these lines
// [guide]
auto ask_over_tls(loop& io, blocking_pool& blocking_threads,
                  const http_router& routes, const std::string& at)
    -> task<std::string> {
  const tls_context ours = or_throw(tls_context::server({
      .identity = {.chain = tls_context::pem::file(at + "chain.pem"),
                   .key = tls_context::pem::file(at + "key.pem")},
      .protocols = {"http/1.1"},
      .handshakes = &blocking_threads,
  }));
  http_server server(io, routes, {.tls = ours});
  stream_listener listener =
      or_throw(stream_listener::listen(io, socket_address::loopback(0)));
  const std::string url =
      "https://localhost:" + std::to_string(listener.local_address()->port());

  // Asks the system on threads that may block.
  resolver names(io, blocking_threads);
  const tls_context theirs = or_throw(tls_context::client(
      {.authorities = tls_context::pem::file(at + "authority.pem")}));
  http_client client(io, {.names = &names, .tls = theirs});
  // [/guide]
  // clang-format on
  std::string body;
  auto all = [&](scope& children) -> task<void> {
    auto serve = [](http_server& by, stream_listener from) -> task<void> {
      static_cast<void>(co_await by.serve(std::move(from)));
    };
    children.spawn(serve(server, std::move(listener)));
    const auto answer = co_await client.get(url + "/");
    if (answer) body = answer->body;
    co_await server.stop(10s);
  };
  co_await with_scope(all);
  co_return body;
}

}  // namespace

TEST_CASE("a server and a client over TLS need few lines more, and a lane for the long work") {
  const testing::scratch_folder folder;
  const auto& people = tls_people::known();
  folder.write("chain.pem", people.server.certificate);
  folder.write("key.pem", people.server.key);
  folder.write("authority.pem", people.authority.certificate);
  const auto io = loop::create().value();
  blocking_pool blocking_threads;  // ends before the loop that its jobs come home to
  std::string body;
  auto ask = [&]() -> task<void> {
    body = co_await ask_over_tls(*io, blocking_threads, tls_scene::routes, folder.path().string() + "/");
    io->stop();
  };
  io->run([&] { io->spawn(ask()); });
  CHECK(body == "hello");
}

TEST_CASE("a server that gets another context shows it to those who come, and goes on with those who are there") {
  tls_scene scene;
  CHECK(scene.get().value().body == "hello");
  const auto stranger = make_certificate({.name = "stranger"});
  scene.server().replace_tls(server_as(stranger));
  // The client keeps its connection.
  CHECK(scene.get().value().body == "hello");
  CHECK(scene.counts().accepted == 1);
  http_client other(scene.here.io(), trusting());
  outcome<result<http_client::answer>> ended = scene.here.run(other.get(scene.url()));
  CHECK_FALSE(ended.take());
  CHECK(scene.counts().accepted == 2);
}
