// tests/net/redis_guide_test.cpp: the code of docs/redis.md, with the real server.
#include <braid/net/redis_connection.hpp>

#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/tls_scene.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace {

// clang-format off: a page shows these lines
// [calls]
auto greet(braid::redis_connection& redis) -> braid::task<void> {
  using namespace std::chrono_literals;
  braid::arena memory;

  const auto written = co_await redis.set("user:7:name", "Ada");
  if (!written) std::puts(written.error().message().c_str());

  const auto name = co_await redis.get("user:7:name", memory, 50ms);
  if (name && *name)
    std::printf("hello %.*s\n", static_cast<int>((*name)->size()),
                (*name)->data());
}
// [/calls]
// clang-format on

// clang-format off: a page shows these lines
// [batch]
auto countries(braid::redis_connection& redis,
               const std::vector<std::int64_t>& users, braid::arena& memory)
    -> braid::task<braid::result<std::span<const braid::resp_value>>> {
  braid::redis_batch batch;
  for (const std::int64_t id : users)
    batch.add("HGET", braid::resp_joined{"user:", id}, "country");
  co_return co_await redis.run(batch, memory);
}
// [/batch]
// clang-format on

// clang-format off: a page shows these lines
// [ids]
auto countries_of(braid::redis_connection& redis,
                  std::span<const std::int64_t> users, braid::arena& memory)
    -> braid::task<braid::result<std::span<const braid::resp_value>>> {
  const std::string_view field = "country";
  const braid::redis_id_batch batch{
      .name = "HGET", .prefix = "user:", .ids = users, .rest = {&field, 1}};
  co_return co_await redis.run(batch, memory);
}
// [/ids]
// clang-format on

// clang-format off: a page shows these lines
// [tls]
auto by_tls(const std::string& authority)
    -> braid::result<braid::redis_options> {
  const auto context = braid::tls_context::client(
      {.authorities = braid::tls_context::pem::text(authority)});
  if (!context) return braid::fail(context.error());
  braid::redis_options options;
  options.tls = *context;
  options.server_name = "localhost";
  return options;
}
// [/tls]
// clang-format on

}  // namespace

TEST_CASE("the options of the guide have a context") {
  const auto options = by_tls(braid::testing::tls_people::known().authority.certificate);
  REQUIRE(options.has_value());
  CHECK(options->tls.has_value());
  CHECK_FALSE(by_tls("no certificate").has_value());
}

TEST_CASE("the code of the guide does what the guide says") {
  const braid::testing::redis_server server;
  braid::testing::run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_options options;
    options.socket_path = server.socket_path();
    options.request_timeout = std::chrono::seconds(20);
    options.silence_when_left = options.silence;
    braid::redis_connection redis(io, options);
    co_await greet(redis);
    braid::arena memory;
    CHECK(**co_await redis.get("user:7:name", memory) == "Ada");
    CHECK(*co_await redis.hset("user:1", "country", "US") == 1);
    const std::vector<std::int64_t> users{1, 2};
    const auto got = co_await countries(redis, users, memory);
    REQUIRE(got.has_value());
    CHECK((*got)[0].text() == "US");
    CHECK((*got)[1].is_null());
    const auto again = co_await countries_of(redis, users, memory);
    REQUIRE(again.has_value());
    CHECK((*again)[0].text() == "US");
    CHECK((*again)[1].is_null());
  });
}
