// tests/net/redis_calls_test.cpp: what each call sends, and what it makes of the replies of RESP2 and RESP3.
#include <braid/net/detail/redis_calls.hpp>

#include <tests/net/redis_scene.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace braid;
using namespace braid::testing;

namespace {

/// Runs one call to its end: `start` awaits it, the server sees `sent` and answers `reply`.
template <typename T>
auto answered(auto start, const std::string& sent, const std::string& reply) -> T {
  redis_scene scene;
  scene.connect();
  std::optional<T> got;
  auto run = [&](auto calling) -> task<void> { got.emplace(co_await calling(scene.redis())); };
  scene.loop().io().spawn(run(start));
  scene.run_once();
  CHECK(scene.server().take() == sent);
  scene.send(reply);
  REQUIRE(got.has_value());
  return *got;
}

using text = result<std::optional<std::string_view>>;
using texts = result<std::span<const resp_value>>;
using number = result<std::int64_t>;

}  // namespace

TEST_CASE("texts that are there, and those that are not") {
  arena memory;
  const auto get = [&](redis_connection& redis) { return redis.get("k", memory); };
  const auto hget = [&](redis_connection& redis) { return redis.hget("k", "f", memory); };
  CHECK(**answered<text>(get, command_bytes({"GET", "k"}), bulk("v")) == "v");
  CHECK(**answered<text>(get, command_bytes({"GET", "k"}), bulk("")) == "");
  CHECK_FALSE(answered<text>(get, command_bytes({"GET", "k"}), "$-1\r\n")->has_value());
  CHECK_FALSE(answered<text>(get, command_bytes({"GET", "k"}), "_\r\n")->has_value());
  CHECK(**answered<text>(hget, command_bytes({"HGET", "k", "f"}), bulk("v")) == "v");
  CHECK(
      (answered<text>(hget, command_bytes({"HGET", "k", "f"}), "-WRONGTYPE x\r\n").error() == redis_errc::wrong_type));
}

TEST_CASE("a hash is names and values in turn, by either protocol") {
  arena memory;
  const auto call = [&](redis_connection& redis) { return redis.hgetall("k", memory); };
  const std::string sent = command_bytes({"HGETALL", "k"});
  for (const char* head : {"*4\r\n", "%2\r\n"}) {
    const auto got = answered<texts>(call, sent, head + bulk("a") + bulk("1") + bulk("b") + bulk("2"));
    REQUIRE(got->size() == 4);
    CHECK((*got)[2].text() == "b");
    CHECK((*got)[3].text() == "2");
  }
  CHECK(answered<texts>(call, sent, "*0\r\n")->empty());
  CHECK((answered<texts>(call, sent, "*1\r\n:1\r\n").error() == redis_errc::unexpected_reply));
}

TEST_CASE("a list is its elements") {
  arena memory;
  const auto call = [&](redis_connection& redis) { return redis.lrange("k", 0, -1, memory); };
  const std::string sent = command_bytes({"LRANGE", "k", "0", "-1"});
  const auto got = answered<texts>(call, sent, "*2\r\n" + bulk("a") + bulk("b"));
  REQUIRE(got->size() == 2);
  CHECK((*got)[0].text() == "a");
  CHECK(answered<texts>(call, sent, "*0\r\n")->empty());
  CHECK((answered<texts>(call, sent, "*1\r\n$-1\r\n").error() == redis_errc::unexpected_reply));
  CHECK((answered<texts>(call, sent, bulk("a")).error() == redis_errc::unexpected_reply));
}

TEST_CASE("writes say how it went") {
  const auto set = [](redis_connection& redis) { return redis.set("k", "v"); };
  CHECK(answered<result<void>>(set, command_bytes({"SET", "k", "v"}), "+OK\r\n").has_value());
  CHECK((answered<result<void>>(set, command_bytes({"SET", "k", "v"}), "-OOM x\r\n").error() ==
         redis_errc::out_of_memory));
  const auto del = [](redis_connection& redis) { return redis.del("k"); };
  CHECK(*answered<number>(del, command_bytes({"DEL", "k"}), ":1\r\n") == 1);
  const auto hset = [](redis_connection& redis) { return redis.hset("k", "f", "v"); };
  CHECK(*answered<number>(hset, command_bytes({"HSET", "k", "f", "v"}), ":0\r\n") == 0);
  const auto rpush = [](redis_connection& redis) { return redis.rpush("k", "v"); };
  CHECK(*answered<number>(rpush, command_bytes({"RPUSH", "k", "v"}), ":5\r\n") == 5);
  CHECK((answered<number>(rpush, command_bytes({"RPUSH", "k", "v"}), "-WRONGTYPE x\r\n").error() ==
         redis_errc::wrong_type));
}

TEST_CASE("any command gives its reply as it is, errors too") {
  arena memory;
  static constexpr std::array<std::string_view, 2> words{"TYPE", "k"};
  const auto call = [&](redis_connection& redis) { return redis.command(words, memory); };
  CHECK(answered<result<resp_value>>(call, command_bytes({"TYPE", "k"}), "+list\r\n")->text() == "list");
  const auto error = answered<result<resp_value>>(call, command_bytes({"TYPE", "k"}), "-ERR x\r\n");
  CHECK(error->is_error());
  CHECK(error->text() == "ERR x");
}
