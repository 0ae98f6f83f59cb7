// tests/io/tls_handshake_test.cpp: verification of peers, negotiation, and failures of a handshake.
#include <braid/coro/with_scope.hpp>
#include <braid/io/tls.hpp>
#include <braid/task/executors.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/raw_tls.hpp>
#include <tests/support/tls_scene.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace braid;
using testing::certified;
using testing::client_context;
using testing::make_certificate;
using testing::manual_executor;
using testing::raw_context;
using testing::raw_tls;
using testing::server_context;
using testing::shake_hands;
using testing::test_loop;
using testing::tls_ends;
using testing::tls_people;

namespace {

auto run_handshake(test_loop& here, tls_context client, tls_context server, std::string host = "localhost")
    -> tls_ends {
  return here.run(shake_hands(here.io(), std::move(client), std::move(server), std::move(host))).take();
}

/// A server with this certificate, as a client that trusts the known authority finds it.
auto as_server(test_loop& here, const certified& who, std::string host = "localhost") -> tls_ends {
  auto server = testing::known_server();
  server.identity = testing::read_identity(who);
  return run_handshake(here, client_context(), server_context(server), std::move(host));
}

auto signed_server(testing::certificate_wish wish) -> certified {
  return make_certificate(wish, &tls_people::known().authority);
}

/// The other end of a socket of the loop, which blocks.
struct loop_and_plain {
  stream_socket ours;
  testing::plain_peer theirs;

  explicit loop_and_plain(loop& io) : loop_and_plain(io, numbers()) {}

 private:
  static auto numbers() -> std::array<int, 2> {
    std::array<int, 2> both{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) == 0);
    return both;
  }
  loop_and_plain(loop& io, std::array<int, 2> both)
      : ours(stream_socket::adopt(io, descriptor(both[0])).value()), theirs(descriptor(both[1])) {}
};

/// Runs a handshake of ours against what `peer` does with its end on a thread of its own.
template <typename Peer>
auto against(test_loop& here, const tls_context& ours, std::string host, Peer peer) -> result<tls_stream> {
  loop_and_plain ends(here.io());
  std::thread other([&] { peer(ends.theirs); });
  auto hands = host.empty() ? tls_stream::accept(ours, std::move(ends.ours))
                            : tls_stream::connect(ours, std::move(ends.ours), std::move(host));
  auto made = here.run(std::move(hands)).take();
  if (!made) ends.ours = {};
  other.join();
  return made;
}

/// What a server gets from a client first.
auto client_hello(test_loop& here) -> std::string {
  loop_and_plain ends(here.io());
  std::string hello;
  scope stopped(here.io().root());
  auto asks = [&]() -> task<void> {
    static_cast<void>(co_await tls_stream::connect(client_context(), std::move(ends.ours), "localhost"));
  };
  stopped.spawn(asks());
  here.run_once();
  char room[4096];
  const auto size = ::recv(ends.theirs.number(), room, sizeof(room), 0);
  stopped.request_stop();
  CHECK(here.run_until([&] { return stopped.tasks() == 0; }));
  return {room, static_cast<std::size_t>(size)};
}

/// Counts the jobs that go through it.
class counting_executor final : public executor {
 public:
  explicit counting_executor(executor& to) noexcept : to_(&to) {}
  auto try_post(job& work) noexcept -> bool override {
    ++posts;
    return to_->try_post(work);
  }
  auto is_current() const noexcept -> bool override { return to_->is_current(); }
  int posts = 0;

 private:
  executor* to_;
};

auto exchange_word(tls_stream& from, tls_stream& to) -> task<void> {
  const auto wrote = co_await from.write_all(bytes_of("word"));
  CHECK(wrote.has_value());
  std::array<std::byte, 10> room{};
  const auto got = co_await to.read_some(room);
  CHECK(got == 4);
  CHECK(text_of(room).starts_with("word"));
}

}  // namespace

TEST_CASE("both ends agree on the newest version, and the client knows the server's certificate and name") {
  test_loop here;
  const auto ends = run_handshake(here, client_context(), server_context());
  REQUIRE(ends.client.has_value());
  REQUIRE(ends.server.has_value());
  CHECK(ends.client->version() == tls_context::version::tls_1_3);
  CHECK(ends.server->version() == tls_context::version::tls_1_3);
  CHECK(ends.server->server_name() == "localhost");
  CHECK(ends.client->peer_certificate().size() > 100);
  CHECK(ends.server->peer_certificate().empty());
  CHECK_FALSE(ends.client->resumed());
  CHECK(ends.client->protocol().empty());
}

TEST_CASE("a certificate is for the names and addresses that it lists, and for nothing else") {
  test_loop here;
  const certified wild = signed_server({.hosts = "DNS:*.example.com,DNS:plain.example,IP:127.0.0.1,IP:::1"});
  for (const char* host : {"a.example.com", "A.EXAMPLE.com", "plain.example", "plain.example.", "127.0.0.1", "::1"}) {
    CAPTURE(host);
    CHECK(as_server(here, wild, host).client.has_value());
  }
  for (const char* host : {"example.com", "a.b.example.com", "plain.example.org", "localhost"}) {
    CAPTURE(host);
    CHECK(as_server(here, wild, host).client.error() == tls_errc::wrong_host);
  }
  for (const char* host : {"127.0.0.2", "::2"}) {
    CAPTURE(host);
    CHECK(as_server(here, wild, host).client.error() == tls_errc::wrong_address);
  }
  for (const char* host : {".example.com", ".", "a..example.com", "..example.com", "a.example.com.."}) {
    CAPTURE(host);
    CHECK(as_server(here, wild, host).client.error() == errc::invalid_argument);
  }
  const certified by_name_only = signed_server({.name = "localhost", .hosts = ""});
  CHECK(as_server(here, by_name_only).client.error() == tls_errc::wrong_host);
}

TEST_CASE("a certificate that cannot be trusted is refused with the reason, and the server learns that it was") {
  test_loop here;
  const certified stranger = make_certificate({.name = "stranger", .authority = true});
  const certified of_stranger = make_certificate({.name = "server"}, &stranger);
  const certified with_stranger{.certificate = of_stranger.certificate + stranger.certificate, .key = of_stranger.key};
  struct row {
    certified who;
    tls_errc why;
    const char* alert;
  };
  const std::vector<row> rows{
      {signed_server({.from = -7200, .until = -3600}), tls_errc::certificate_expired,
       "sslv3 alert certificate expired"},
      {signed_server({.from = 3600, .until = 7200}), tls_errc::certificate_not_yet_valid,
       "sslv3 alert bad certificate"},
      {make_certificate({.name = "self"}), tls_errc::self_signed, "tlsv1 alert unknown ca"},
      {of_stranger, tls_errc::unknown_issuer, "tlsv1 alert unknown ca"},
      {with_stranger, tls_errc::self_signed_in_chain, "tlsv1 alert unknown ca"},
      {signed_server({.purpose = "clientAuth"}), tls_errc::wrong_purpose, "sslv3 alert unsupported certificate"},
  };
  for (const row& one : rows) {
    CAPTURE(one.alert);
    const auto ends = as_server(here, one.who);
    CHECK(ends.client.error() == one.why);
    REQUIRE_FALSE(ends.server.has_value());
    CHECK(ends.server.error().message() == one.alert);
  }
}

TEST_CASE("who verifies nothing takes any server") {
  test_loop here;
  auto server = testing::known_server();
  server.identity = testing::read_identity(make_certificate({.name = "self", .until = -60}));
  const auto ends = run_handshake(here, client_context({.verification = tls_context::verification::none}),
                                  server_context(server), "");
  CHECK(ends.client.has_value());
  CHECK(ends.server.has_value());
}

TEST_CASE("a host that is none is refused before anything is sent") {
  test_loop here;
  for (const std::string& host : {std::string(), std::string("."), std::string("a\0b", 3), std::string(300, 'x')}) {
    const auto ends = run_handshake(here, client_context(), server_context(), host);
    CHECK(ends.client.error() == errc::invalid_argument);
    CHECK(ends.server.error() == tls_errc::truncated);
  }
}

TEST_CASE("a server's key that is too weak is refused") {
  test_loop here;
  const certified weak = signed_server({.rsa_bits = 1024});
  const raw_context as(raw_context::side::server, &weak);
  const auto made = against(here, client_context(), "localhost",
                            [&](testing::plain_peer& end) { CHECK_FALSE(raw_tls(as, end.number()).shake_hands()); });
  CHECK(made.error() == tls_errc::key_too_small);
}

TEST_CASE("versions before TLS 1.2 are refused on both sides, and TLS 1.2 where 1.3 is the least") {
  test_loop here;
  const raw_context client(raw_context::side::client);
  const raw_context server(raw_context::side::server, &tls_people::known().server);
  auto only_new = testing::known_server();
  only_new.min_version = tls_context::version::tls_1_3;
  for (const int version : {TLS1_1_VERSION, TLS1_2_VERSION}) {
    ::SSL_CTX_set_max_proto_version(client.get(), version);
    ::SSL_CTX_set_max_proto_version(server.get(), version);
    const bool is_old = version == TLS1_1_VERSION;
    auto hands = [](const raw_context& as) {
      return [&as](testing::plain_peer& end) { static_cast<void>(raw_tls(as, end.number()).shake_hands()); };
    };
    const auto accepted = against(here, server_context(is_old ? testing::known_server() : only_new), "", hands(client));
    CHECK(accepted.error().message() == "unsupported protocol");
    auto newest = testing::trusting_client();
    if (!is_old) newest.min_version = tls_context::version::tls_1_3;
    const auto connected = against(here, client_context(newest), "localhost", hands(server));
    REQUIRE_FALSE(connected.has_value());
    CHECK(connected.error().message() == "tlsv1 alert protocol version");
  }
}

TEST_CASE("a protocol is agreed on by ALPN: the server's first that the client offers") {
  test_loop here;
  auto client = testing::trusting_client();
  client.protocols = {"http/1.1", "h2", "other"};
  auto server = testing::known_server();
  server.protocols = {"h3", "h2", "http/1.1"};
  const auto agreed = run_handshake(here, client_context(client), server_context(server));
  CHECK(agreed.client.value().protocol() == "h2");
  CHECK(agreed.server.value().protocol() == "h2");
  const auto client_only = run_handshake(here, client_context(client), server_context());
  CHECK(client_only.client.value().protocol().empty());
  const auto server_only = run_handshake(here, client_context(), server_context(server));
  CHECK(server_only.server.value().protocol().empty());
}

TEST_CASE("without a protocol in common both sides say so") {
  test_loop here;
  auto client = testing::trusting_client();
  client.protocols = {"h2"};
  auto server = testing::known_server();
  server.protocols = {"http/1.1"};
  const auto ends = run_handshake(here, client_context(client), server_context(server));
  CHECK(ends.client.error() == tls_errc::no_application_protocol);
  CHECK(ends.server.error() == tls_errc::no_application_protocol);
}

TEST_CASE("a client goes on from its last session with a host, and with no other") {
  test_loop here;
  const tls_context client = client_context();
  const tls_context server = server_context();
  const auto connect = [&](const std::string& host) {
    auto ends = run_handshake(here, client, server, host);
    here.run(exchange_word(*ends.server, *ends.client)).take();  // the ticket comes with the first read
    CHECK(ends.client->resumed() == ends.server->resumed());
    CHECK(ends.client->peer_certificate().size() > 100);
    return ends.client->resumed();
  };
  CHECK_FALSE(connect("localhost"));
  CHECK(connect("localhost"));
  CHECK(connect("localhost"));
  CHECK_FALSE(connect("127.0.0.1"));
  CHECK(connect("127.0.0.1"));
}

TEST_CASE("a session is not resumed with a server that has other keys, or where a side does not want to") {
  test_loop here;
  auto frugal = testing::trusting_client();
  frugal.max_sessions = 0;
  auto fresh = testing::known_server();
  fresh.resumption = false;
  struct row {
    tls_context client;
    tls_context first;
    tls_context second;
  };
  const tls_context usual = server_context();
  const tls_context without = server_context(fresh);
  for (const row& one : {row{client_context(), usual, server_context()}, row{client_context(frugal), usual, usual},
                         row{client_context(), without, without}}) {
    for (const tls_context& server : {one.first, one.second}) {
      auto ends = run_handshake(here, one.client, server);
      CHECK_FALSE(ends.client.value().resumed());
      here.run(exchange_word(*ends.server, *ends.client)).take();
    }
  }
}

TEST_CASE("of too many hosts the one that came first is forgotten") {
  test_loop here;
  auto small = testing::trusting_client();
  small.max_sessions = 2;
  const tls_context client = client_context(small);
  auto named = testing::known_server();
  named.identity = testing::read_identity(signed_server({.hosts = "DNS:a.test,DNS:b.test,DNS:c.test"}));
  const tls_context server = server_context(named);
  const auto connect = [&](const char* host) {
    auto ends = run_handshake(here, client, server, host);
    here.run(exchange_word(*ends.server, *ends.client)).take();
    return ends.client->resumed();
  };
  for (const char* host : {"a.test", "b.test", "c.test"}) CHECK_FALSE(connect(host));
  CHECK(connect("c.test"));
  CHECK(connect("b.test"));
  CHECK_FALSE(connect("a.test"));
}

TEST_CASE("sessions of TLS 1.2 are resumed on both sides") {
  test_loop here;
  const raw_context peer_server(raw_context::side::server, &tls_people::known().server);
  ::SSL_CTX_set_max_proto_version(peer_server.get(), TLS1_2_VERSION);
  const tls_context client = client_context();
  for (const bool again : {false, true}) {
    const auto made = against(here, client, "localhost", [&](testing::plain_peer& end) {
      CHECK(raw_tls(peer_server, end.number()).shake_hands());
    });
    CHECK(made.value().version() == tls_context::version::tls_1_2);
    CHECK(made->resumed() == again);
  }
  const raw_context peer_client(raw_context::side::client);
  ::SSL_CTX_set_max_proto_version(peer_client.get(), TLS1_2_VERSION);
  const tls_context server = server_context();
  SSL_SESSION* session = nullptr;
  for (const bool again : {false, true}) {
    const auto made = against(here, server, "", [&](testing::plain_peer& end) {
      const raw_tls peer(peer_client, end.number());
      if (again) ::SSL_set_session(peer.get(), session);
      CHECK(peer.shake_hands());
      if (!again) session = ::SSL_get1_session(peer.get());
      ::SSL_set_shutdown(peer.get(), SSL_SENT_SHUTDOWN);  // or OpenSSL takes the session for a bad one
    });
    CHECK(made.value().resumed() == again);
  }
  ::SSL_SESSION_free(session);
}

TEST_CASE("a server that wants a certificate takes a good one, and refuses another one and none") {
  test_loop here;
  const auto& people = tls_people::known();
  auto wants = testing::known_server();
  wants.client_certificate = tls_context::client_certificate::required;
  wants.client_authorities = tls_context::pem::text(people.authority.certificate);
  const tls_context server = server_context(wants);
  auto good = testing::trusting_client();
  good.identity = testing::read_identity(signed_server({.name = "client", .purpose = "clientAuth"}));
  const auto known = run_handshake(here, client_context(good), server);
  CHECK(known.client.has_value());
  REQUIRE(known.server.has_value());
  CHECK(known.server->peer_certificate().size() > 100);

  std::array<std::byte, 10> room{};
  const auto nobody = run_handshake(here, client_context(), server);
  CHECK(nobody.server.error() == tls_errc::no_client_certificate);
  const auto told = here.run(nobody.client.value().read_some(room)).take();
  CHECK(told.error() == tls_errc::no_client_certificate);

  auto bad = testing::trusting_client();
  bad.identity = testing::read_identity(make_certificate({.name = "client", .purpose = "clientAuth"}));
  CHECK(run_handshake(here, client_context(bad), server).server.error() == tls_errc::self_signed);

  wants.client_certificate = tls_context::client_certificate::asked;
  const tls_context asking = server_context(wants);
  CHECK(run_handshake(here, client_context(), asking).server.has_value());
  CHECK(run_handshake(here, client_context(bad), asking).server.error() == tls_errc::self_signed);
}

TEST_CASE("a client of a server that verifies it resumes its session, certificate and all") {
  test_loop here;
  auto wants = testing::known_server();
  wants.client_certificate = tls_context::client_certificate::required;
  wants.client_authorities = tls_context::pem::text(tls_people::known().authority.certificate);
  const tls_context server = server_context(wants);
  auto good = testing::trusting_client();
  good.identity = testing::read_identity(signed_server({.name = "client", .purpose = "clientAuth"}));
  const tls_context client = client_context(good);
  for (const bool again : {false, true}) {
    auto ends = run_handshake(here, client, server);
    CHECK(ends.server.value().resumed() == again);
    CHECK(ends.server->peer_certificate().size() > 100);
    here.run(exchange_word(*ends.server, *ends.client)).take();
  }
}

TEST_CASE("what is no TLS is refused at once") {
  test_loop here;
  struct row {
    std::string bytes;
    std::string diagnostic;
  };
  using namespace std::string_literals;
  const std::vector<row> rows{
      {"GET / HTTP/1.0\r\n\r\n", "http request"},
      {"CONNECT a:1 HTTP/1.0\r\n\r\n", "https proxy request"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "wrong version number"},
      {"\x16\x03\x01\xff\xff", "packet length too long"},
      {"\x16\x03\x01\x00\x04\x02\x00\x00\x00"s, "unexpected message"},
      {"\x17\x03\x03\x00\x01x"s, "unexpected message"},
      {"\x15\x03\x03\x00\x02\x02\x28"s, "unexpected message"},
      {std::string(64, '\0'), "wrong version number"},
      {"\x16\x03\x01\x00\x00"s, ""},
  };
  for (const row& one : rows) {
    CAPTURE(one.diagnostic);
    CAPTURE(one.bytes);
    const auto made = against(here, server_context(), "", [&](testing::plain_peer& end) {
      end.send(one.bytes);
      end.end_writing();
    });
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().category() == braid::detail::tls_category());
    if (!one.diagnostic.empty()) CHECK(made.error().message() == one.diagnostic);
  }
}

TEST_CASE("a connection that ends anywhere in a ClientHello was cut") {
  test_loop here;
  const std::string hello = client_hello(here);
  REQUIRE(hello.size() > 100);
  const tls_context server = server_context();
  for (std::size_t size = 0; size <= hello.size(); ++size) {
    CAPTURE(size);
    const auto made = against(here, server, "", [&](testing::plain_peer& end) {
      if (size != 0) end.send(hello.substr(0, size));
      end.end_writing();
    });
    CHECK(made.error() == tls_errc::truncated);
  }
}

TEST_CASE("a peer that stops in the middle of a handshake is given up after its time") {
  test_loop here;
  const std::string hello = client_hello(here);
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, hello.size() / 2, hello.size()}) {
    CAPTURE(size);
    const std::size_t before = testing::open_descriptors();
    {
      loop_and_plain ends(here.io());
      if (size != 0) ends.theirs.send(hello.substr(0, size));
      std::optional<std::error_code> why;
      auto accepts = [&]() -> task<void> {
        const auto made = co_await tls_stream::accept(server_context(), std::move(ends.ours));
        why = made.error();
      };
      here.io().spawn(accepts());
      here.run_once();
      here.advance(9s);
      CHECK_FALSE(why.has_value());
      here.advance(2s);
      REQUIRE(here.run_until([&] { return why.has_value(); }));
      CHECK(*why == errc::deadline_exceeded);
    }
    CHECK(testing::open_descriptors() == before);
  }
}

TEST_CASE("the steps of a handshake run on the executor, and those that get nowhere are not taken") {
  test_loop here;
  blocking_pool blocking_threads;
  counting_executor counted(blocking_threads);
  auto server = testing::known_server();
  server.handshakes = &counted;
  const auto ends = run_handshake(here, client_context(), server_context(server));
  CHECK(ends.server.has_value());
  CHECK(counted.posts == 2);  // the client's hello, and its last word

  const std::string hello = client_hello(here);
  counted.posts = 0;
  const auto made = against(here, server_context(server), "", [&](testing::plain_peer& end) {
    for (const char one : hello) end.send(std::string_view(&one, 1));
    end.end_writing();
  });
  CHECK(made.error() == tls_errc::truncated);
  CHECK(counted.posts == 1);

  counting_executor of_client(blocking_threads);
  auto verifying = testing::trusting_client();
  verifying.handshakes = &of_client;
  CHECK(run_handshake(here, client_context(verifying), server_context()).client.has_value());
  CHECK(of_client.posts >= 1);
}

TEST_CASE("the time of a handshake, and a deadline around it, pass while a step waits for a busy executor") {
  test_loop here;
  auto client = testing::trusting_client();
  manual_executor busy;
  client.handshakes = &busy;
  client.handshake_timeout = 200ms;
  for (const duration deadline : {duration(1h), duration(100ms)}) {
    auto sockets = stream_socket::pair(here.io()).value();
    scope serving(here.io().root());
    auto serves = [&]() -> task<void> {
      static_cast<void>(co_await tls_stream::accept(server_context(), std::move(sockets.second)));
    };
    serving.spawn(serves());
    std::optional<std::error_code> why;
    auto connects = [&]() -> task<void> {
      auto connecting = tls_stream::connect(client_context(client), std::move(sockets.first), "localhost");
      const auto made = co_await with_timeout(deadline, std::move(connecting));
      why = made ? std::error_code() : made.error();
    };
    here.io().spawn(connects());
    REQUIRE(here.run_until([&] { return busy.pending() == 1; }));
    here.advance(99ms);
    CHECK_FALSE(why.has_value());
    here.advance(102ms);
    REQUIRE(here.run_until([&] { return why.has_value(); }));
    CHECK(*why == errc::deadline_exceeded);
    REQUIRE(busy.pending() == 1);
    busy.run();  // the connection that it was for is gone
    serving.request_stop();
    CHECK(here.run_until([&] { return serving.tasks() == 0; }));
  }
}

TEST_CASE("where the executor takes nothing more, a handshake fails and closes its socket") {
  test_loop here;
  blocking_pool blocking_threads;
  REQUIRE(blocking_threads.shutdown(shutdown_mode::drain).has_value());
  auto server = testing::known_server();
  server.handshakes = &blocking_threads;
  const std::size_t before = testing::open_descriptors();
  {
    const auto ends = run_handshake(here, client_context(), server_context(server));
    CHECK(ends.server.error() == errc::closed);
    CHECK(ends.client.error() == tls_errc::truncated);
  }
  CHECK(testing::open_descriptors() == before);
}

TEST_CASE("a handshake that is stopped at any moment leaves nothing behind") {
  test_loop here;
  blocking_pool blocking_threads;
  auto server = testing::known_server();
  auto client = testing::trusting_client();
  for (executor* const where : {static_cast<executor*>(nullptr), static_cast<executor*>(&blocking_threads)}) {
    server.handshakes = where;
    client.handshakes = where;
    const tls_context as_client = client_context(client);
    const tls_context as_server = server_context(server);
    std::size_t before = 0;
    bool finished = false;
    // Each moment at first. Beside a lane that gets no processor for a while the loop makes any number of turns.
    for (int turns = 0; !finished; turns += turns < 300 ? 1 : turns) {
      REQUIRE(turns < 1 << 27);
      if (turns == 1) before = testing::open_descriptors();  // the lane has its threads, the loop what it needs
      {
        scope all(here.io().root());
        auto both = [&]() -> task<void> {
          const auto ends = co_await shake_hands(here.io(), as_client, as_server);
          finished = ends.client && ends.server;
        };
        all.spawn(both());
        here.run_once(turns);
        all.request_stop();
        CHECK(here.run_until([&] { return all.tasks() == 0; }));
      }
      // A thread that the executor starts has a file open for a moment.
      if (turns != 0) CHECK(here.run_until([&] { return testing::open_descriptors() == before; }));
      CHECK_FALSE(here.io().backend().has_watches());
    }
  }
}
