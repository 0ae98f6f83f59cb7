// tests/net/redis_cluster_batch_test.cpp: batches for a cluster: cut by nodes, sent on together, in their order.
#include <braid/net/redis_cluster.hpp>

#include <tests/net/redis_nodes.hpp>
#include <tests/net/redis_scene.hpp>
#include <tests/support/scarce_memory.hpp>

#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

TEST_CASE("a transaction is no batch for a cluster, and a write is not sent again where memory was short") {
  redis_nodes world(1, 1);
  world.say_master({0});
  redis_batch batch;
  batch.add("MULTI");
  batch.add("SET", "foo", 1);
  batch.add("EXEC");
  const auto refused = world.run(batch);
  world.answer();
  CHECK((refused->error == redis_errc::no_transactions));
  CHECK(world.node(0).seen.empty());
  const auto known = world.get("foo");
  world.answer();
  CHECK(known->text == "a:foo");

  const std::string reply = bulk(std::string(50'000, 'x'));  // there is no room for it in what the arena has
  int short_of_memory = 0;
  for (long succeed = 0; succeed < 4; ++succeed) {
    world.node(0).frozen = true;
    const auto write = world.set("k");
    world.answer();
    REQUIRE(world.node(0).server.take() == command_bytes({"SET", "k", "v"}));
    world.node(0).server.send(reply);
    {
      const scarce_memory scarce(succeed, scarcity::one);
      world.loop.run_once();
    }
    world.node(0).frozen = false;
    world.pass(100);
    REQUIRE(write->over);
    if (write->error == std::errc::not_enough_memory) ++short_of_memory;
    CHECK(world.node(0).times("SET k v") == 0);
    static_cast<void>(world.get("foo"));  // asks for the map first
    world.pass(100);
  }
  CHECK((short_of_memory > 0 || failures() == 0));  // nothing fails under the thread sanitizer
}

TEST_CASE("a script goes to the node of its key") {
  redis_nodes world(2, 2);
  const auto master = [&](std::size_t node, std::string_view first, std::string_view last) {
    return "*3\r\n:" + std::string(first) + "\r\n:" + std::string(last) + "\r\n*2\r\n" + bulk(world.node(node).path()) +
           ":1\r\n";
  };
  for (const std::size_t each : {0, 1})
    world.node(each).slots = "*2\r\n" + master(0, "0", "8191") + master(1, "8192", "16383");
  redis_batch batch;
  batch.add("EVAL", "return 1", 1, "bar");  // of slot 5061
  batch.add("EVAL", "return 1", 1, "foo");  // of slot 12182
  const auto run = world.run(batch);
  world.answer();
  world.answer();
  CHECK(run->over);
  CHECK(world.node(0).times("EVAL return 1 1 bar") == 1);
  CHECK(world.node(1).times("EVAL return 1 1 foo") == 1);
}

TEST_CASE("a batch follows a redirection of a command whose key it does not find, as a single command does") {
  redis_nodes world(2, 1);
  const auto master = [&](std::size_t node, std::string_view first, std::string_view last) {
    return "*3\r\n:" + std::string(first) + "\r\n:" + std::string(last) + "\r\n*2\r\n" + bulk(world.node(node).path()) +
           ":1\r\n";
  };
  for (const std::size_t each : {0, 1})
    world.node(each).slots = "*2\r\n" + master(0, "0", "8191") + master(1, "8192", "16383");
  // The word behind the name is of slot 5061, and the key, which only the server finds, of slot 12182.
  world.node(0).answer = [&](const std::string& words) -> std::string {
    if (words == "CLUSTER SLOTS") return world.node(0).slots;
    return "-MOVED 12182 " + world.node(1).path() + ":1\r\n";
  };
  world.node(1).answer = [&](const std::string& words) -> std::string {
    return words == "CLUSTER SLOTS" ? world.node(1).slots : bulk("answered");
  };
  redis_batch batch;
  batch.add("MODULE.NEW", "bar", "foo");
  batch.add("MODULE.NEW", "bar", "foo", "again");
  const auto run = world.run(batch);
  world.pass(200);
  CHECK(run->text == "answered answered ");
  CHECK(world.node(0).times("MODULE.NEW bar foo") == 1);
  CHECK(world.node(1).times("MODULE.NEW bar foo") == 1);
  CHECK(world.node(1).times("MODULE.NEW bar foo again") == 1);
}

TEST_CASE("keys that have moved together are asked for together") {
  redis_nodes world(3, 1);
  world.say_master({0});
  redis_batch batch;
  for (int i = 0; i < 4; ++i) batch.add("GET", resp_joined{"{foo}", i});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "a:foo");
  const std::string to = world.node(1).path() + ":1\r\n";
  world.node(0).answer = [&](const std::string& words) {
    return words == "CLUSTER SLOTS" ? world.node(0).slots : "-MOVED 12182 " + to;
  };
  world.say_master({1});
  const auto moved = world.run(batch);
  world.answer();
  CHECK(moved->text == "b:{foo}0 b:{foo}1 b:{foo}2 b:{foo}3 ");
  CHECK(world.cluster().redirections() == 4);

  world.node(1).answer = [&](const std::string& words) {
    if (words == "CLUSTER SLOTS") return world.node(1).slots;
    return words == "GET {foo}2" ? bulk("here") : "-ASK 12182 " + world.node(2).path() + ":1\r\n";
  };
  world.node(2).frozen = true;
  const auto asked = world.run(batch);
  world.answer();
  std::string together;
  for (const int i : {0, 1, 3})
    together += command_bytes({"ASKING"}) + command_bytes({"GET", "{foo}" + std::to_string(i)});
  REQUIRE(world.node(2).server.accept());
  CHECK(world.node(2).server.received() == together);
  world.node(2).frozen = false;
  world.answer();
  CHECK(asked->text == "c:{foo}0 c:{foo}1 here c:{foo}3 ");
  CHECK(world.cluster().redirections() == 7);

  world.say_master({0});
  world.node(0).answer = [&](const std::string& words) {
    return words == "CLUSTER SLOTS" ? world.node(0).slots : "-MOVED 12182 " + world.node(0).path() + ":1\r\n";
  };
  world.pass(100);
  const auto cycle = world.run(batch);
  world.node(1).answer = world.node(0).answer;
  world.pass(10);
  CHECK((cycle->error == redis_errc::too_many_hops));
}

TEST_CASE("a batch whose later commands ran before one that was refused for the moment has failed") {
  for (const std::string refusal : {"-CLUSTERDOWN x\r\n", "-LOADING x\r\n", "-TRYAGAIN x\r\n", "-MOVED 12182 :0\r\n"}) {
    CAPTURE(refusal);
    redis_nodes world(1, 1);
    world.say_master({0});
    std::vector<std::string> refused;  // once each
    world.node(0).answer = [&](const std::string& words) {
      if (words == "CLUSTER SLOTS") return world.node(0).slots;
      if (std::erase(refused, words) == 0) return std::string(":1\r\n");
      if (!refusal.starts_with("-MOVED")) return refusal;
      const int slot = braid::detail::find_redis_slot(words.contains("{foo}") ? "foo" : "elsewhere");
      return "-MOVED " + std::to_string(slot) + " " + world.node(0).path() + ":1\r\n";
    };
    redis_batch writes;
    writes.add("RPUSH", "{foo}l", 1);
    writes.add("SET", "elsewhere", 1);
    writes.add("RPUSH", "{foo}l", 2);
    writes.add("RPUSH", "{foo}l", 3);

    refused = {"RPUSH {foo}l 1"};
    const auto broken = world.run(writes);
    world.pass(100);
    CHECK((broken->error == redis_errc::out_of_order));
    CHECK(world.node(0).times("RPUSH {foo}l 1") == 1);

    refused = {"RPUSH {foo}l 2", "RPUSH {foo}l 3"};  // from there on: they are sent again in their order
    const auto whole = world.run(writes);
    world.pass(100);
    CHECK_FALSE(whole->error);
    CHECK(world.node(0).seen.back() == "RPUSH {foo}l 3");
    CHECK(world.node(0).times("RPUSH {foo}l 1") == 1);

    refused = {"SET elsewhere 1"};  // another slot
    const auto other = world.run(writes);
    world.pass(100);
    CHECK_FALSE(other->error);
  }
}

TEST_CASE(
    "a batch waits for keys that are between two nodes until the deadline, however often it is sent on for that") {
  redis_nodes world(2, 1);
  world.say_master({0});
  int patience = 20;
  world.node(0).answer = [&](const std::string& words) {
    return words == "CLUSTER SLOTS" ? world.node(0).slots : "-ASK 12182 " + world.node(1).path() + ":1\r\n";
  };
  world.node(1).answer = [&](const std::string& words) -> std::string {
    if (words == "ASKING") return "+OK\r\n";
    return patience-- > 0 ? "-TRYAGAIN x\r\n" : ":2\r\n";
  };
  redis_batch batch;
  batch.add("DEL", "{foo}1", "{foo}2");
  const auto call = world.run(batch, 10s);
  world.pass(3000);
  CHECK(call->over);
  CHECK_FALSE(call->error);
  CHECK(patience == -1);
}
