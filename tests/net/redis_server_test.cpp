// tests/net/redis_server_test.cpp: the client with the real server: every call, passwords, both protocols, restarts.
#include <braid/net/redis_connection.hpp>

#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

auto at_port(const redis_server& server) -> redis_options {
  redis_options options;
  options.port = server.port();
  options.request_timeout = 20s;  // a busy machine is no fault
  options.connect_timeout = 20s;
  return options;
}

auto at_socket(const redis_server& server) -> redis_options {
  redis_options options = at_port(server);
  options.socket_path = server.socket_path();
  return options;
}

auto texts(std::span<const resp_value> items) -> std::string {
  std::string out;
  for (const resp_value& item : items) out += std::string(item.text()) + " ";
  return out;
}

auto use_everything(loop& io, redis_options options) -> task<void> {
  redis_connection redis(io, std::move(options));
  arena memory;
  static_cast<void>(co_await redis.del("l"));
  static_cast<void>(co_await redis.del("h"));
  CHECK((co_await redis.set("k", "v")).has_value());
  CHECK(**co_await redis.get("k", memory) == "v");
  CHECK_FALSE((co_await redis.get("absent", memory))->has_value());
  CHECK(*co_await redis.hset("h", "country", "US") == 1);
  CHECK(**co_await redis.hget("h", "country", memory) == "US");
  CHECK_FALSE((co_await redis.hget("h", "absent", memory))->has_value());
  CHECK(texts(*co_await redis.hgetall("h", memory)) == "country US ");
  CHECK((co_await redis.hgetall("absent", memory))->empty());
  static constexpr std::array elements{"1", "2", "3"};
  for (const char* element : elements) static_cast<void>(co_await redis.rpush("l", element));
  CHECK(texts(*co_await redis.lrange("l", 0, 1, memory)) == "1 2 ");
  CHECK((co_await redis.get("l", memory)).error() == redis_errc::wrong_type);
  CHECK(*co_await redis.del("l") == 1);
  const std::string large(3'000'000, 'x');
  CHECK((co_await redis.set("large", large)).has_value());
  CHECK((**co_await redis.get("large", memory) == large));
}

/// Asks until there is an answer: for a server that was away.
auto get_at_last(redis_connection& redis, std::string_view key) -> task<std::string> {
  for (;;) {
    arena memory;
    const auto got = co_await redis.get(key, memory);
    if (got) co_return std::string(got->value_or("nothing"));
    co_await sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("every call works, by TCP and by a Unix socket, in RESP2 and in RESP3") {
  const redis_server server;
  for (const redis_protocol protocol : {redis_protocol::resp2, redis_protocol::resp3})
    for (redis_options options : {at_port(server), at_socket(server)}) {
      options.protocol = protocol;
      run_on_loop([&](loop& io) { return use_everything(io, options); });
    }
}

TEST_CASE("a password is wanted, is told, and may be wrong") {
  const redis_server server({"--requirepass", "secret"});
  run_on_loop([&](loop& io) -> task<void> {
    arena memory;
    redis_connection none(io, at_socket(server));
    CHECK((co_await none.get("k", memory)).error() == redis_errc::no_authentication);
    redis_options options = at_socket(server);
    options.password = "guess";
    redis_connection wrong(io, options);
    CHECK((co_await wrong.get("k", memory)).error() == redis_errc::wrong_password);
    options.password = "secret";
    static constexpr std::array protocols{redis_protocol::resp2, redis_protocol::resp3};
    for (const redis_protocol protocol : protocols) {
      options.protocol = protocol;
      redis_connection right(io, options);
      CHECK((co_await right.get("k", memory)).has_value());
    }
  });
}

TEST_CASE("databases are apart") {
  const redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    arena memory;
    redis_options options = at_socket(server);
    redis_connection zero(io, options);
    options.database = 5;
    redis_connection five(io, options);
    CHECK((co_await five.set("k", "five")).has_value());
    CHECK_FALSE((co_await zero.get("k", memory))->has_value());
    CHECK(**co_await five.get("k", memory) == "five");
  });
}

TEST_CASE("every type of RESP3 is read as the server writes it") {
  const redis_server server({"--enable-debug-command", "yes"});
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = at_socket(server);
    options.protocol = redis_protocol::resp3;
    redis_connection redis(io, options);
    arena memory;
    redis_batch batch;
    static constexpr std::array types{"string", "integer", "double",   "null", "array", "set",
                                      "map",    "attrib",  "verbatim", "true", "false", "bignum"};
    for (const char* type : types) batch.add("DEBUG", "PROTOCOL", type);
    const auto got = co_await redis.run(batch, memory);
    REQUIRE(got.has_value());
    const auto& all = *got;
    CHECK(all[0].text() == "Hello World");
    CHECK(all[1].integer() == 12345);
    CHECK(all[2].real() == doctest::Approx(3.141));
    CHECK(all[3].is_null());
    CHECK(all[4].items().size() == 3);
    CHECK(all[5].type() == resp_type::set);
    CHECK(all[6].type() == resp_type::map);
    CHECK(all[6].items().size() == 6);
    CHECK(all[7].text() == "Some real reply following the attribute");
    CHECK(all[8].type() == resp_type::verbatim);
    CHECK(all[8].format() == "txt");
    CHECK(all[9].boolean());
    CHECK_FALSE(all[10].boolean());
    CHECK(all[11].type() == resp_type::big_number);
  });
}

TEST_CASE("a batch of thousands is answered in order through a small window") {
  const redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = at_socket(server);
    options.in_flight = 100;
    redis_pool pool(io, options, 2);
    arena memory;
    redis_batch batch;
    for (int i = 0; i < 5'000; ++i) batch.add("ECHO", i);
    const auto got = co_await pool.run(batch, memory);
    REQUIRE(got.has_value());
    for (int i = 0; i < 5'000; ++i) REQUIRE((*got)[static_cast<std::size_t>(i)].text() == std::to_string(i));
  });
}

TEST_CASE("a transaction may be a batch") {
  const redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    redis_connection redis(io, at_socket(server));
    arena memory;
    redis_batch batch;
    batch.add("MULTI");
    batch.add("SET", "k", "1");
    batch.add("INCR", "k");
    batch.add("EXEC");
    const auto got = co_await redis.run(batch, memory);
    REQUIRE(got.has_value());
    CHECK((*got)[1].text() == "QUEUED");
    CHECK((*got)[3].items()[1].integer() == 2);
  });
}

TEST_CASE("a server that has no memory left refuses writes and answers reads") {
  const redis_server server({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
  run_on_loop([&](loop& io) -> task<void> {
    redis_connection redis(io, at_socket(server));
    arena memory;
    CHECK((co_await redis.set("k", "v")).error() == redis_errc::out_of_memory);
    CHECK((co_await redis.get("k", memory)).has_value());
  });
}

TEST_CASE("a server that is killed is lost, and found again when it is back") {
  redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    const std::array places{at_socket(server), at_port(server)};
    for (const redis_options& options : places) {
      redis_connection redis(io, options);
      arena memory;
      CHECK((co_await redis.set("k", "v")).has_value());
      server.kill();
      CHECK_FALSE((co_await redis.get("k", memory)).has_value());
      const std::uint16_t port = server.port();
      server.start();
      REQUIRE(server.port() == port);
      CHECK(co_await get_at_last(redis, "k") == "nothing");
      CHECK(redis.counts().lost >= 1);
    }
  });
}

TEST_CASE("a server that stands still is not waited for beyond the deadline, and goes on where it was") {
  redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = at_socket(server);
    options.silence = 10min;
    options.silence_when_left = 10min;
    redis_connection redis(io, options);
    arena memory;
    CHECK((co_await redis.set("k", "v")).has_value());
    server.freeze();
    for (int i = 0; i < 5; ++i) {
      arena gone;
      CHECK((co_await redis.get("k", gone, 5ms)).error() == errc::deadline_exceeded);
    }
    server.thaw();
    CHECK(**co_await redis.get("k", memory) == "v");
    CHECK(redis.counts().dropped == 5);
    CHECK(redis.counts().connected == 1);
  });
}

TEST_CASE("a server that stands still for long is given up, and another connection is made") {
  redis_server server;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = at_socket(server);
    options.silence = 30ms;
    options.request_timeout = 10ms;
    redis_connection redis(io, options);
    arena memory;
    static_cast<void>(co_await get_at_last(redis, "k"));
    server.freeze();
    while (redis.counts().lost == 0) static_cast<void>(co_await redis.get("k", memory));
    server.thaw();
    CHECK(co_await get_at_last(redis, "k") == "nothing");
  });
}
