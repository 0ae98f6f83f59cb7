// tests/net/redis_tls_test.cpp: connections to Redis by TLS: verification of servers, and what becomes of calls when
// the handshake fails, is broken off or takes too long.
#include <braid/net/detail/redis_transport.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <tests/net/redis_scene.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/tls_redis_server.hpp>
#include <tests/support/tls_scene.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/task/executors.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

auto shared_server() -> tls_redis_server& {
  static tls_redis_server server;
  return server;
}

auto by_tls(std::uint16_t port, const tls_context::client_options& how = trusting_client()) -> redis_options {
  redis_options options;
  options.port = port;
  options.tls = client_context(how);
  options.backoff.seed = 1;
  options.request_timeout = 20s;  // a busy machine is no fault
  options.connect_timeout = 20s;
  return options;
}

/// What becomes of a SET and a GET with these options.
auto set_and_get(const redis_options& options) -> result<std::string> {
  result<std::string> ended = fail(errc::invalid_argument);
  run_on_loop([&](loop& io) -> task<void> {
    redis_connection redis(io, options);
    arena memory;
    const auto set = co_await redis.set("k", "by tls");
    if (!set) {
      ended = fail(set.error());
      co_return;
    }
    const auto got = co_await redis.get("k", memory);
    if (!got)
      ended = fail(got.error());
    else
      ended = got->has_value() ? std::string(**got) : "nothing";
  });
  return ended;
}

/// Why a call by these options fails.
auto failure_by(const redis_options& options) -> std::error_code {
  const auto ended = set_and_get(options);
  return ended ? std::error_code() : ended.error();
}

}  // namespace

TEST_CASE("a server whose certificate is good for its address is talked to by TLS") {
  CHECK(set_and_get(by_tls(shared_server().port())).value() == "by tls");
}

TEST_CASE("the greeting goes by TLS as well") {
  redis_options options = by_tls(shared_server().port());
  options.protocol = redis_protocol::resp3;
  options.database = 2;
  CHECK(set_and_get(options).value() == "by tls");
}

TEST_CASE("the server's name may be another than its address") {
  redis_options options = by_tls(shared_server().port());
  options.server_name = "localhost";
  CHECK(set_and_get(options).value() == "by tls");
}

TEST_CASE("a Unix socket may carry TLS where the server's name is told, and a plain server there is found out") {
  redis_options options = by_tls(0);
  options.socket_path = shared_server().server().socket_path();
  options.server_name = "localhost";
  options.connect_timeout = 200ms;
  CHECK(failure_by(options));
}

TEST_CASE("a certificate of an authority that nobody trusts is refused") {
  const certified stranger = make_certificate({.name = "stranger", .authority = true});
  const auto why =
      failure_by(by_tls(shared_server().port(), {.authorities = tls_context::pem::text(stranger.certificate)}));
  CHECK(why.category() == braid::detail::tls_category());
  CHECK((why == tls_errc::unknown_issuer || why == tls_errc::self_signed_in_chain));
}

TEST_CASE("a certificate for another name is refused, unless nobody verifies") {
  redis_options options = by_tls(shared_server().port());
  options.server_name = "redis.example";
  CHECK((failure_by(options) == tls_errc::wrong_host));
  tls_context::client_options anybody = trusting_client();
  anybody.verification = tls_context::verification::none;
  options.tls = client_context(anybody);
  CHECK(set_and_get(options).value() == "by tls");
}

TEST_CASE("a plain client at the port for TLS fails, and so does a client of TLS at the plain port") {
  redis_options plain;
  plain.port = shared_server().port();
  plain.request_timeout = 500ms;
  CHECK(failure_by(plain));
  redis_options tls = by_tls(shared_server().server().port());
  tls.connect_timeout = 200ms;
  CHECK(failure_by(tls));
}

TEST_CASE("many calls at once and large replies come by TLS as they are") {
  constexpr int calls = 200;
  int right = 0;
  std::size_t size = 0;
  run_on_loop([&](loop& io) -> task<void> {
    redis_connection redis(io, by_tls(shared_server().port()));
    const std::string large(3'000'000, 'x');
    const auto written = co_await redis.set("large", large);
    CHECK(written);
    auto one = [&](int i) -> task<void> {
      arena memory;
      const std::string key = "many:" + std::to_string(i);
      const auto set = co_await redis.set(key, key);
      const auto got = co_await redis.get(key, memory);
      right += set && got && *got && **got == key;
    };
    auto all = [&](scope& in) -> task<void> {
      for (int i = 0; i < calls; ++i) in.spawn(one(i));
      arena memory;
      const auto got = co_await redis.get("large", memory);
      size = got && *got && **got == large ? large.size() : 0;
    };
    co_await with_scope(std::ref(all));
  });
  CHECK(right == calls);
  CHECK(size == 3'000'000);
}

TEST_CASE("a connection by TLS that its owner ends, ends with the notice") {
  result<std::size_t> end = 1;
  run_on_loop([&](loop& io) -> task<void> {
    auto listener = stream_listener::listen(io, socket_address::loopback(0)).value();
    auto serve = [&]() -> task<void> {
      auto socket = co_await listener.accept();
      auto shaking = tls_stream::accept(server_context(), std::move(*socket));
      const auto stream = co_await std::move(shaking);
      std::array<std::byte, 4096> room{};
      for (;;) {
        end = co_await stream->read_some(room);
        if (!end || *end == 0) co_return;
        static_cast<void>(co_await stream->write_all(bytes_of("+OK\r\n")));
      }
    };
    auto both = [&](scope& in) -> task<void> {
      in.spawn(serve());
      redis_connection redis(io, by_tls(listener.local_address().value().port()));
      const auto set = co_await redis.set("k", "1");
      CHECK(set);
    };
    co_await with_scope(std::ref(both));
  });
  CHECK(end == 0);
}

TEST_CASE("a connection by TLS that is lost is made again") {
  tls_redis_server own;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = by_tls(own.port());
    options.backoff = {.first = 1ms, .max_delay = 5ms, .seed = 1};
    redis_connection redis(io, options);
    const auto before = co_await redis.set("k", "1");
    CHECK(before);
    own.server().kill();
    const auto lost = co_await redis.set("k", "2");
    CHECK_FALSE(lost);
    own.server().start();
    result<void> again = fail(errc::closed);
    for (int attempt = 0; !again && attempt < 1'000; ++attempt) {
      again = co_await redis.set("k", "3");
      if (!again) co_await sleep_for(5ms);
    }
    CHECK(again);
    CHECK(redis.counts().connected >= 2);
  });
}

TEST_CASE("a host that is a name is asked for, and is whom the certificate must be for") {
  run_on_loop([&](loop& io) -> task<void> {
    blocking_pool blocking;  // ends before the loop that it wakes
    resolver::options how;
    how.lookup = [](const std::string& name) -> result<socket_address::list> {
      if (name != "localhost") return fail(errc::unknown_host);
      return socket_address::list{socket_address::ip("127.0.0.1", 0).value()};
    };
    resolver names(io, blocking, std::move(how));
    redis_options options = by_tls(shared_server().port());
    options.names = &names;
    options.host = "localhost";
    {
      redis_connection redis(io, options);
      const auto set = co_await redis.set("k", "1");
      CHECK(set);
    }
    options.host = "nobody.example";
    redis_connection nobody(io, options);
    const auto refused = co_await nobody.set("k", "1");
    CHECK((refused.error() == errc::unknown_host));
  });
}

TEST_CASE("without a resolver a name is no address") {
  redis_options options;
  options.host = "localhost";
  CHECK((failure_by(options) == redis_errc::no_address));
}

TEST_CASE("a server that says nothing in the handshake is given up after the time for a connection") {
  redis_options options = by_tls(0);
  options.server_name = "localhost";
  options.connect_timeout = 200ms;
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k", 10s);
  scene.loop().advance(150ms);
  CHECK_FALSE(call->over);
  CHECK_FALSE(scene.server().received().empty());
  scene.loop().advance(60ms);
  CHECK((call->error == std::errc::timed_out));
  CHECK(scene.redis().status() == redis_connection::state::backing_off);
  scene.run_once();
  CHECK(scene.server().is_ended());
}

TEST_CASE("a call whose time is over in the handshake leaves, and the handshake goes on") {
  redis_options options = by_tls(0);
  options.server_name = "localhost";
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k", 50ms);
  scene.loop().advance(60ms);
  CHECK((call->error == errc::deadline_exceeded));
  CHECK(scene.redis().status() == redis_connection::state::connecting);
  CHECK_FALSE(scene.server().is_ended());
}

TEST_CASE("a server that is gone in the middle of the handshake fails the calls, and is tried again") {
  redis_options options = by_tls(0);
  options.server_name = "localhost";
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k", 10s);
  scene.run_once();
  SUBCASE("before it has said anything") { scene.server().hang_up(); }
  SUBCASE("behind half a record") {
    scene.server().send(std::string("\x16\x03\x03\x00\x7a\x02", 6));
    scene.server().hang_up();
  }
  SUBCASE("with something that is no record") { scene.server().send("-ERR unknown command\r\n"); }
  scene.run_once();
  CHECK(call->error);
  CHECK(call->error != errc::deadline_exceeded);
  CHECK(scene.redis().counts().failed == 1);
  CHECK(scene.redis().status() == redis_connection::state::backing_off);
  scene.connect_again();
  CHECK(scene.redis().status() == redis_connection::state::connecting);
}

TEST_CASE("a connection that goes away in the middle of the handshake leaves nothing behind") {
  redis_options options = by_tls(0);
  options.server_name = "localhost";
  redis_scene scene(options);
  scene.connect();
  scene.end();
  scene.run_once();
  CHECK(scene.server().is_ended());
}
