// tests/net/redis_batch_test.cpp: many commands with one wait: their order, windows smaller than they are, their ends.
#include <braid/net/redis_batch.hpp>

#include <tests/net/redis_scene.hpp>
#include <tests/support/scarce_memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

auto gets(int count) -> redis_batch {
  redis_batch batch;
  for (int i = 0; i < count; ++i) batch.add("GET", resp_joined{"k", i});
  return batch;
}

auto get_bytes(int first, int count) -> std::string {
  std::string out;
  for (int i = first; i < first + count; ++i) out += command_bytes({"GET", "k" + std::to_string(i)});
  return out;
}

auto replies(int first, int count) -> std::string {
  std::string out;
  for (int i = first; i < first + count; ++i) out += bulk("v" + std::to_string(i));
  return out;
}

}  // namespace

TEST_CASE("a batch holds its commands as they are sent") {
  redis_batch batch;
  batch.add("LRANGE", resp_joined{"follow:", 7}, 0, 9);
  const std::array<std::string_view, 3> words{"HGET", "user:1", "country"};
  batch.add_words(words);
  CHECK(batch.size() == 2);
  CHECK(batch.bytes_of(0, 1) == command_bytes({"LRANGE", "follow:7", "0", "9"}));
  CHECK(batch.bytes_of(1, 1) == command_bytes({"HGET", "user:1", "country"}));
  CHECK(batch.bytes_of(0, 2) == batch.bytes());
  CHECK(batch.bytes_of(1, 0).empty());
  batch.clear();
  CHECK(batch.empty());
  CHECK(batch.bytes().empty());
}

TEST_CASE("a command that there is no memory for is not in the batch, and those around it are") {
  const std::string value(300, 'v');
  for (long succeed = 0; succeed < 4; ++succeed) {
    redis_batch batch;
    std::string wanted;
    int missing = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string key = "k" + std::to_string(i);
      const std::string bytes = command_bytes({"SET", key, value});
      const std::array<std::string_view, 3> words{"SET", key, value};
      const scarce_memory scarce(succeed, scarcity::one);
      try {
        if (i % 2 == 0) batch.add("SET", key, value);
        if (i % 2 == 1) batch.add_words(words);
        scarce_memory::end();
        wanted += bytes;
      } catch (const std::bad_alloc&) {
        scarce_memory::end();
        ++missing;
      }
    }
    REQUIRE(batch.bytes() == wanted);
    REQUIRE(batch.size() == static_cast<std::size_t>(20 - missing));
    for (std::size_t i = 0; i < batch.size(); ++i) CHECK(batch.bytes_of(i, 1).starts_with("*3\r\n$3\r\nSET\r\n"));
  }
}

TEST_CASE("a batch is answered as a whole, errors among the replies") {
  redis_scene scene;
  scene.connect();
  const redis_batch batch = gets(3);
  const auto run = scene.run(batch);
  scene.run_once();
  CHECK(scene.server().take() == get_bytes(0, 3));
  scene.send(bulk("a") + "-WRONGTYPE x\r\n");
  CHECK_FALSE(run->over);
  scene.send("$-1\r\n");
  CHECK(run->text == "a WRONGTYPE x - ");
}

TEST_CASE("a batch larger than the window is sent in parts, and nothing comes between them") {
  redis_options options;
  options.in_flight = 4;
  redis_scene scene(options);
  scene.connect();
  const redis_batch batch = gets(10);
  const auto before = scene.get("before");
  const auto run = scene.run(batch);
  const auto behind = scene.get("behind");
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "before"}) + get_bytes(0, 3));
  scene.send(bulk("BEFORE") + replies(0, 2));
  CHECK(scene.server().take() == get_bytes(3, 3));
  scene.send(replies(2, 4));
  CHECK(scene.server().take() == get_bytes(6, 4));
  scene.send(replies(6, 4));
  CHECK(run->text == "v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 ");
  CHECK(scene.server().take() == command_bytes({"GET", "behind"}));
  scene.send(bulk("BEHIND"));
  CHECK(before->text == "BEFORE");
  CHECK(behind->text == "BEHIND");
}

TEST_CASE("a batch that leaves half-way takes its replies with it") {
  redis_options options;
  options.in_flight = 4;
  redis_scene scene(options);
  scene.connect();
  const redis_batch batch = gets(10);
  const auto run = scene.run(batch);
  scene.run_once();
  CHECK(scene.server().take() == get_bytes(0, 4));
  scene.send(replies(0, 2));
  CHECK(scene.server().take() == get_bytes(4, 2));
  scene.send("$2\r\nv");
  scene.stop_last();
  const auto next = scene.get("next");
  scene.run_once();
  scene.send("2\r\n" + replies(3, 3));
  CHECK(scene.server().take() == command_bytes({"GET", "next"}));
  scene.send(bulk("NEXT"));
  CHECK_FALSE(run->over);
  CHECK(next->text == "NEXT");
  CHECK(scene.redis().counts().dropped == 4);
}

TEST_CASE("a batch is lost as a whole when the connection ends, the part that was not sent too") {
  redis_options options;
  options.in_flight = 4;
  redis_scene scene(options);
  scene.connect();
  const redis_batch batch = gets(10);
  const auto run = scene.run(batch);
  scene.run_once();
  scene.send(replies(0, 1));
  scene.server().hang_up();
  scene.run_once();
  CHECK((run->error == redis_errc::connection_lost));
  scene.connect_again();
  CHECK(scene.server().received().empty());
}

TEST_CASE("a reply that a batch cannot have ends the connection, before what follows is anybody's") {
  redis_scene scene;
  scene.connect();
  redis_batch batch(redis_replies::text);
  batch.add("GET", "k0");
  batch.add("GET", "k1");
  const auto run = scene.run(batch);
  const auto behind = scene.get("behind");
  scene.run_once();
  scene.send(":3\r\n" + bulk("12") + bulk("k1's") + bulk("BEHIND"));
  CHECK((run->error == redis_errc::unexpected_reply));
  CHECK((behind->error == redis_errc::connection_lost));
  CHECK(behind->text.empty());
  CHECK(scene.redis().counts().lost == 1);
}

TEST_CASE("a batch that says what it expects takes that, null and errors") {
  redis_scene scene;
  scene.connect();
  redis_batch texts(redis_replies::text);
  for (int i = 0; i < 3; ++i) texts.add("HGET", resp_joined{"k", i}, "f");
  const auto run = scene.run(texts);
  scene.send(bulk("a") + "$-1\r\n-WRONGTYPE x\r\n");
  CHECK(run->text == "a - WRONGTYPE x ");
  redis_batch lists(redis_replies::texts);
  for (int i = 0; i < 3; ++i) lists.add("LRANGE", resp_joined{"k", i}, 0, 9);
  lists.add("SMEMBERS", "s");
  const auto more = scene.run(lists);
  scene.send("*0\r\n*1\r\n" + bulk("a") + "-WRONGTYPE y\r\n" + "~1\r\n" + bulk("b"));
  CHECK(more->text == "- - WRONGTYPE y - ");
  CHECK(scene.redis().counts().lost == 0);
}

TEST_CASE("a batch of ids is sent as the same commands one by one") {
  constexpr std::array<std::int64_t, 8> ids{
      0, 7, 42, -1, 12'345'678, 1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  const std::string long_prefix(250, 'p');
  for (const std::string_view prefix :
       {std::string_view(""), std::string_view("user:"), std::string_view(long_prefix)}) {
    for (const std::size_t words : {0U, 1U, 3U}) {
      constexpr std::array<std::string_view, 3> all{"country", "", "a word that is not so short"};
      const auto rest = std::span(all).first(words);
      const redis_id_batch by_ids{.name = "HGET", .prefix = prefix, .ids = ids, .rest = rest};
      redis_batch one_by_one;
      for (const std::int64_t id : ids) {
        const std::string key = std::string(prefix) + std::to_string(id);
        std::vector<std::string_view> command{"HGET", key};
        command.insert(command.end(), rest.begin(), rest.end());
        one_by_one.add_words(command);
      }
      redis_batch added;
      added.add("GET", "before");
      added.add_each(by_ids);
      CHECK(added.size() == 1 + ids.size());
      CHECK(added.bytes_of(1, ids.size()) == one_by_one.bytes());
      CHECK(added.bytes_of(3, 1) == one_by_one.bytes_of(2, 1));

      redis_scene scene;
      scene.connect();
      const auto run = scene.run(by_ids);
      scene.run_once();
      CHECK(scene.server().take() == one_by_one.bytes());
      scene.send(replies(0, 8));
      CHECK(run->text == "v0 v1 v2 v3 v4 v5 v6 v7 ");
    }
  }
}

TEST_CASE("a batch of ids larger than the window is sent in parts") {
  redis_options options;
  options.in_flight = 3;
  redis_scene scene(options);
  scene.connect();
  constexpr std::array<std::int64_t, 7> ids{0, 1, 2, 3, 4, 5, 6};
  const redis_id_batch batch{.name = "GET", .prefix = "k", .ids = ids, .expected = redis_replies::text};
  const auto run = scene.run(batch);
  scene.run_once();
  CHECK(scene.server().take() == get_bytes(0, 3));
  scene.send(replies(0, 2));
  CHECK(scene.server().take() == get_bytes(3, 2));
  scene.send(replies(2, 3));
  CHECK(scene.server().take() == get_bytes(5, 2));
  scene.send(replies(5, 1) + ":3\r\n");
  CHECK((run->error == redis_errc::unexpected_reply));
}

TEST_CASE("a batch of no ids is over at once, and one that would change the connection is refused") {
  redis_scene scene;
  scene.connect();
  const redis_id_batch empty{.name = "GET", .prefix = "k", .ids = {}};
  const auto nothing = scene.run(empty);
  CHECK((nothing->over && !nothing->error));
  constexpr std::array<std::int64_t, 1> ids{1};
  const redis_id_batch wrong{.name = "SELECT", .prefix = "", .ids = ids};
  CHECK((scene.run(wrong)->error == redis_errc::not_shared));
  redis_batch added;
  added.add_each(wrong);
  CHECK_FALSE(added.is_shareable());
  scene.run_once();
  CHECK(scene.server().received().empty());
}

TEST_CASE("a batch without commands is over at once") {
  redis_scene scene;
  scene.connect();
  const redis_batch batch;
  const auto run = scene.run(batch);
  CHECK(run->over);
  CHECK(!run->error);
}

TEST_CASE("a command that would change the connection for others is refused") {
  redis_scene scene;
  scene.connect();
  for (const char* name :
       {"SUBSCRIBE", "subscribe", "MONITOR", "SELECT", "Auth", "HELLO", "RESET", "QUIT", "PSUBSCRIBE"}) {
    redis_batch batch = gets(1);
    batch.add(name, "1");
    CHECK((scene.run(batch)->error == redis_errc::not_shared));
    CHECK((scene.command({name, "1"})->error == redis_errc::not_shared));
  }
  redis_batch quiet;
  quiet.add("CLIENT", "REPLY", "OFF");
  CHECK((scene.run(quiet)->error == redis_errc::not_shared));
  CHECK((scene.command({"client", "reply", "skip"})->error == redis_errc::not_shared));
  CHECK((scene.command({})->error == redis_errc::not_shared));
  scene.run_once();
  CHECK(scene.server().received().empty());
  const auto id = scene.command({"CLIENT", "ID"});
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"CLIENT", "ID"}));
  scene.send(":1\r\n");
  CHECK(id->text == "-");
}

TEST_CASE("a transaction that does not begin and end in one batch is refused, and so is what belongs to one") {
  redis_scene scene;
  scene.connect();
  for (const char* name : {"MULTI", "exec", "DISCARD", "Watch", "UNWATCH", "ASKING"}) {
    CHECK((scene.command({name})->error == redis_errc::not_shared));
    CHECK((scene.command({name, "k"})->error == redis_errc::not_shared));
  }
  const std::vector<std::vector<const char*>> unbalanced{
      {"MULTI"},
      {"MULTI", "SET"},
      {"EXEC"},
      {"MULTI", "EXEC", "DISCARD"},
      {"MULTI", "MULTI", "EXEC"},
      {"MULTI", "EXEC", "MULTI"},
      {"WATCH", "MULTI", "EXEC"},
      {"EXEC", "MULTI", "EXEC"},
      {"ASKING", "GET"},
  };
  for (const auto& names : unbalanced) {
    redis_batch batch;
    for (const char* name : names) batch.add(name);
    CAPTURE(batch.bytes());
    CHECK_FALSE(batch.is_shareable());
    CHECK((scene.run(batch)->error == redis_errc::not_shared));
    batch.clear();
    CHECK(batch.is_shareable());
    CHECK_FALSE(batch.has_transaction());
    batch.add("MULTI");
    batch.add("EXEC");
    CHECK(batch.is_shareable());  // no transaction of before is open
  }
  scene.run_once();
  CHECK(scene.server().received().empty());

  redis_batch two;
  constexpr std::array<std::string_view, 1> begin{"multi"};
  two.add("GET", "k0");
  two.add_words(begin);
  two.add("EXEC");
  two.add("MULTI");
  two.add("SET", "k", 1);
  two.add("discard");
  CHECK(two.has_transaction());
  const auto run = scene.run(two);
  scene.run_once();
  CHECK(scene.server().take() == two.bytes());
  scene.send(bulk("0") + "+OK\r\n*0\r\n+OK\r\n+QUEUED\r\n+OK\r\n");
  CHECK(run->text == "0 OK - OK QUEUED OK ");
}

TEST_CASE("a transaction whose caller leaves in its middle takes the connection with it") {
  redis_options options;
  options.in_flight = 4;
  for (const bool answered : {false, true}) {
    CAPTURE(answered);
    redis_scene scene(options);
    scene.connect();
    redis_batch batch;
    batch.add("MULTI");
    for (int i = 0; i < 6; ++i) batch.add("SET", resp_joined{"k", i}, i);
    batch.add("EXEC");
    const auto run = scene.run(batch);
    scene.run_once();
    CHECK(scene.server().take() == batch.bytes_of(0, 4));
    const auto other = scene.get("other");
    if (answered) scene.send("+OK\r\n+QUEUED\r\n");
    scene.stop_last();  // the other one
    const auto behind = scene.set("k", "v");
    CHECK(scene.redis().counts().lost == 0);
    scene.stop_first();
    CHECK(scene.redis().counts().lost == 1);
    CHECK_FALSE(run->over);
    CHECK_FALSE(behind->over);
    scene.connect_again();
    CHECK(scene.server().take() == command_bytes({"SET", "k", "v"}));
    scene.send("+OK\r\n");
    CHECK((behind->over && !behind->error));
  }
}

TEST_CASE("a transaction that there is no memory for in its middle takes the connection with it") {
  redis_options options;
  options.in_flight = 4;
  int cut = 0;
  for (long succeed = 0; succeed < 4; ++succeed) {
    redis_scene scene(options);
    scene.connect();
    redis_batch batch;
    batch.add("MULTI");
    for (int i = 0; i < 6; ++i) batch.add("SET", resp_joined{"k", i}, std::string(i < 3 ? 1 : 400'000, 'v'));
    batch.add("EXEC");
    const auto run = scene.run(batch);
    scene.run_once();
    REQUIRE(scene.server().take() == batch.bytes_of(0, 4));
    scene.server().send("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
    {
      const scarce_memory scarce(succeed, scarcity::one);
      scene.run_once();
    }
    if (!run->over || run->error != std::errc::not_enough_memory) continue;
    ++cut;
    CHECK(scene.redis().counts().lost == 1);
  }
  CHECK((cut > 0 || failures() == 0));  // nothing fails under the thread sanitizer
}

TEST_CASE("a batch whose begin was answered when the connection ends does not go on with the next one") {
  redis_options options;
  options.in_flight = 4;
  redis_scene scene(options);
  scene.connect();
  const redis_batch batch = gets(8);
  const auto run = scene.run(batch);
  const auto behind = scene.get("behind");
  scene.run_once();
  CHECK(scene.server().take() == get_bytes(0, 4));
  scene.send(replies(0, 4) + "+nobody has asked\r\n");
  CHECK(scene.redis().counts().lost == 1);
  CHECK((run->error == redis_errc::connection_lost));
  scene.connect_again();
  CHECK(scene.server().take() == command_bytes({"GET", "behind"}));
  scene.send(bulk("v"));
  CHECK(behind->text == "v");
}
