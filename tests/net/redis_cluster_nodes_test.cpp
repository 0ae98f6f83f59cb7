// tests/net/redis_cluster_nodes_test.cpp: nodes that leave the map of slots, and what becomes of their calls.
#include <braid/net/redis_cluster.hpp>

#include <tests/net/redis_nodes.hpp>

#include <braid/net/redis_batch.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

TEST_CASE("a node that has left the map is closed and not dialed again, though it comes back at its address") {
  redis_nodes world(3, 1);
  world.say_master({0, 2});
  world.options.reads = redis_cluster::reads::replicas;
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "c:foo");
  const auto written = world.set("foo");
  world.answer();
  REQUIRE(written->over);
  for (const std::size_t each : {0U, 2U}) REQUIRE_FALSE(world.node(each).server.is_ended());
  world.say_master({1});
  auto refreshed = [](redis_cluster& in) -> task<void> { static_cast<void>(co_await in.refresh()); };
  world.loop.io().spawn(refreshed(world.cluster()));
  world.pass(200);
  const auto moved = world.get("foo");
  world.answer();
  CHECK(moved->text == "b:foo");
  for (const std::size_t gone : {0U, 2U}) {
    CHECK(world.node(gone).server.is_ended());
    CHECK_FALSE(world.node(gone).server.accept());
  }
  world.node(1).server.hang_up();
  world.pass(1'000);
  for (const std::size_t gone : {0U, 2U}) CHECK_FALSE(world.node(gone).server.accept());
  const auto again = world.get("foo");
  world.pass(10);
  CHECK(again->text == "b:foo");
}

TEST_CASE("a call that was sent to a node gets its reply though the node leaves the map meanwhile") {
  redis_nodes world(2, 2);
  world.say_master({0});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "a:foo");
  world.node(0).frozen = true;
  const auto sent = world.set("foo");
  world.answer();
  world.say_master({1});
  auto refreshed = [](redis_cluster& in) -> task<void> { static_cast<void>(co_await in.refresh()); };
  world.loop.io().spawn(refreshed(world.cluster()));
  world.pass(300);  // the given node is asked after that of the map, which is silent
  REQUIRE(world.cluster().owner(0) == world.node(1).path() + ":1");
  CHECK_FALSE(sent->over);
  CHECK_FALSE(world.node(0).server.is_ended());
  world.node(0).frozen = false;
  world.answer();
  CHECK(sent->over);
  CHECK_FALSE(sent->error);
  CHECK(world.node(0).times("SET foo v") == 1);
  CHECK(world.node(1).times("SET foo v") == 0);
  CHECK(world.node(0).server.is_ended());
}

TEST_CASE("what waits for a node that leaves the map is sent to another one") {
  redis_nodes world(2, 2);
  world.say_master({0});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "a:foo");
  world.node(0).server.stop_listening();
  world.node(0).server.hang_up();
  world.node(0).frozen = true;
  world.answer();
  const auto waits = world.get("foo", 5s);
  redis_batch batch;
  batch.add("GET", "bar");
  const auto all = world.run(batch, 5s);
  world.answer();
  CHECK_FALSE(waits->over);
  CHECK_FALSE(all->over);
  world.say_master({1});
  auto refreshed = [](redis_cluster& in) -> task<void> { static_cast<void>(co_await in.refresh()); };
  world.loop.io().spawn(refreshed(world.cluster()));
  world.pass(1'500);
  CHECK(waits->text == "b:foo");
  CHECK(all->text == "b:bar ");
  CHECK(world.cluster().owner(0) == world.node(1).path() + ":1");
}

TEST_CASE("the given nodes are asked again where no node of the map answers") {
  redis_nodes world(2, 1);
  world.say_master({1});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "b:foo");
  world.node(1).server.stop_listening();
  world.node(1).server.hang_up();
  world.node(1).frozen = true;
  world.say_master({0});
  const auto call = world.get("foo", 900ms);
  world.pass(900);
  CHECK(call->text == "a:foo");
}
