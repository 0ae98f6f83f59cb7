// tests/net/redis_options_test.cpp: how a server is greeted, and what becomes of calls when it refuses.
#include <braid/net/redis_options.hpp>

#include <tests/net/redis_scene.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

TEST_CASE("a server that wants no greeting gets none") {
  redis_scene scene;
  scene.connect();
  CHECK(scene.server().received().empty());
  CHECK(scene.redis().status() == redis_connection::state::ready);
}

TEST_CASE("password and database are told before any command") {
  redis_options options;
  options.password = "secret";
  options.database = 3;
  options.reads_from_replica = true;
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k");
  scene.run_once();
  CHECK(scene.server().take() ==
        command_bytes({"AUTH", "secret"}) + command_bytes({"SELECT", "3"}) + command_bytes({"READONLY"}));
  CHECK(scene.redis().status() == redis_connection::state::connecting);
  scene.send("+OK\r\n+O");
  scene.send("K\r\n");
  CHECK(scene.server().received().empty());
  scene.send("+OK\r\n");
  CHECK(scene.server().take() == command_bytes({"GET", "k"}));
  scene.send(bulk("v"));
  CHECK(call->text == "v");
}

TEST_CASE("a user is told with the password") {
  redis_options options;
  options.user = "somebody";
  options.password = "secret";
  redis_scene scene(options);
  scene.connect();
  CHECK(scene.server().take() == command_bytes({"AUTH", "somebody", "secret"}));
}

TEST_CASE("RESP3 is asked for by HELLO") {
  redis_options options;
  options.protocol = redis_protocol::resp3;
  SUBCASE("without a password") {
    redis_scene scene(options);
    scene.connect();
    CHECK(scene.server().take() == command_bytes({"HELLO", "3"}));
    const auto call = scene.get("k");
    scene.send("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n");
    CHECK(scene.server().take() == command_bytes({"GET", "k"}));
    scene.send("_\r\n");
    CHECK(call->text == "nothing");
  }
  SUBCASE("with one") {
    options.password = "secret";
    redis_scene scene(options);
    scene.connect();
    CHECK(scene.server().take() == command_bytes({"HELLO", "3", "AUTH", "default", "secret"}));
  }
  SUBCASE("from a server that is too old") {
    redis_scene scene(options);
    scene.connect();
    const auto call = scene.get("k");
    scene.send("-ERR unknown command `HELLO`\r\n");
    CHECK((call->error == redis_errc::refused));
  }
}

TEST_CASE("a server that refuses the greeting fails the calls with its reason, and is asked again") {
  redis_options options;
  options.password = "wrong";
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k");
  scene.run_once();
  scene.send("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  CHECK((call->error == redis_errc::wrong_password));
  CHECK(scene.redis().status() == redis_connection::state::backing_off);
  scene.connect_again();
  const auto second = scene.get("k");
  scene.run_once();
  scene.send("+OK\r\n");
  scene.send(bulk("v"));
  CHECK(second->text == "v");
}

TEST_CASE("what a server says when it refuses the greeting is known, without the password that it repeats") {
  struct refusal {
    redis_protocol protocol;
    std::string_view said;
    redis_errc code;
    std::string_view known;
  };
  constexpr auto resp2 = redis_protocol::resp2;
  constexpr auto resp3 = redis_protocol::resp3;
  const std::string long_text = "ERR " + std::string(5'000, 'x');
  const std::vector<refusal> table{
      {resp2, "WRONGPASS invalid pair", redis_errc::wrong_password, "WRONGPASS invalid pair"},
      {resp2, "NOPERM no 'select'", redis_errc::no_permission, "NOPERM no 'select'"},
      {resp2, "ERR max number of clients reached", redis_errc::too_many_clients, "ERR max number of clients reached"},
      {resp3, "ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `sec",
       redis_errc::refused, "ERR unknown command `HELLO`"},
      {resp2, "ERR no line is AUTH secret", redis_errc::refused, "ERR no line is AUTH "},
      {resp2, long_text, redis_errc::refused, std::string_view(long_text).substr(0, 1'000)},
  };
  for (const refusal& each : table) {
    redis_options options;
    options.protocol = each.protocol;
    options.password = "secret";
    options.database = 1;
    redis_scene scene(options);
    scene.connect();
    const auto call = scene.get("k");
    scene.run_once();
    scene.send("-" + std::string(each.said) + "\r\n");
    CHECK((call->error == each.code));
    CHECK(scene.redis().refusal_of(each.code) == each.known);
    CHECK(scene.redis().refusal_of(redis_errc::connection_lost).empty());
    scene.connect_again();
    scene.send("+OK\r\n+OK\r\n");
    CHECK(scene.redis().refusal_of(each.code).empty());
  }
}

TEST_CASE("a server that takes no connections has run nothing, and its words are the reason of all calls") {
  for (const auto& [said, code] :
       {std::pair("ERR max number of clients reached", redis_errc::too_many_clients),
        std::pair("DENIED Redis is running in protected mode", redis_errc::protected_mode)}) {
    CAPTURE(said);
    redis_scene scene;
    scene.connect();
    redis_batch batch(redis_replies::text);
    batch.add("GET", "a");
    batch.add("GET", "b");
    const auto first = scene.run(batch);
    const auto second = scene.get("c");
    scene.run_once();
    scene.send("-" + std::string(said) + "\r\n");
    scene.server().hang_up();
    scene.run_once();
    CHECK((first->error == code));
    CHECK((second->error == code));
    CHECK(scene.redis().refusal_of(code) == said);
    scene.connect_again();
    const auto third = scene.get("k");
    scene.run_once();
    scene.send(bulk("v"));
    CHECK(third->text == "v");
    scene.server().hang_up();
    scene.run_once();
    CHECK(scene.redis().refusal_of(code).empty());
  }
}

TEST_CASE("a server that loads its data fails the greeting, and is asked again") {
  redis_options options;
  options.database = 1;
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k");
  scene.run_once();
  scene.send("-LOADING Redis is loading the dataset in memory\r\n");
  CHECK((call->error == redis_errc::loading));
}

TEST_CASE("a server that does not answer the greeting in time fails the calls") {
  redis_options options;
  options.password = "secret";
  options.connect_timeout = 200ms;
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k", 10s);
  scene.loop().advance(150ms);
  CHECK_FALSE(call->over);
  scene.loop().advance(60ms);
  CHECK((call->error == std::errc::timed_out));
}

TEST_CASE("a server that hangs up during the greeting fails the calls") {
  redis_options options;
  options.password = "secret";
  redis_scene scene(options);
  scene.connect();
  const auto call = scene.get("k");
  CHECK(scene.server().take() == command_bytes({"AUTH", "secret"}));
  scene.server().hang_up();
  scene.run_once();
  CHECK((call->error == redis_errc::connection_lost));
}

TEST_CASE("words of a refusal that come after a reply are the error of one command") {
  for (const bool is_short : {true, false}) {
    redis_scene scene;
    scene.connect();
    const auto before = scene.get("before");
    scene.run_once();
    scene.send(bulk(is_short ? "BEFORE" : std::string(100'000, 'x')));
    REQUIRE(before->error == std::error_code());
    const auto first = scene.get("first");
    const auto second = scene.get("second");
    scene.run_once();
    scene.send("-DENIED by a script\r\n" + bulk("SECOND"));
    CHECK((first->error == redis_errc::protected_mode));
    CHECK(second->text == "SECOND");
    CHECK_FALSE(scene.redis().last_error());
  }
}
