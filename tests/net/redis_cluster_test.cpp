// tests/net/redis_cluster_test.cpp: commands find their node: with a node that the test plays, and with a real cluster.
#include <braid/net/redis_cluster.hpp>

#include <tests/net/redis_nodes.hpp>
#include <tests/net/redis_scene.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

/// A cluster of one node, which the test plays.
struct one_node {
  explicit one_node(std::function<void(redis_cluster::options&)> change = [](auto&) {}) {
    redis_cluster::options options;
    options.nodes = {{.host = "127.0.0.1", .port = node.port()}};
    options.connection.backoff.seed = 1;
    change(options);
    cluster.emplace(loop.io(), options);
  }
  ~one_node() {
    cluster->close();
    loop.run_once(100);
  }

  auto get(std::string key, duration timeout = duration::zero()) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    auto run = [](std::shared_ptr<call_end> end, redis_cluster& in, std::string of, duration limit) -> task<void> {
      arena memory;
      const auto got = co_await in.get(of, memory, limit);
      end->over = true;
      if (got) end->text = got->value_or("nothing");
      if (!got) end->error = got.error();
    };
    loop.io().spawn(run(told, *cluster, std::move(key), timeout));
    return told;
  }

  /// Waits until the client has sent exactly this, while a little time passes.
  auto sees(const std::string& sent) -> bool {
    return loop.run_until([&] {
      loop.advance(1ms);
      node.accept();
      return node.received() == sent;
    }) && node.take() == sent;
  }
  void send(std::string_view bytes) {
    node.send(bytes);
    REQUIRE(loop.run_until([&, turns = 0]() mutable { return ++turns > 50; }));
  }
  [[nodiscard]] auto address() const -> std::string { return "127.0.0.1:" + std::to_string(node.port()); }
  /// What CLUSTER SLOTS answers where this node has all of them.
  [[nodiscard]] auto slots() const -> std::string {
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1") + ":" + std::to_string(node.port()) + "\r\n";
  }

  test_loop loop;
  scripted_server node{scripted_server::place::port};
  std::optional<redis_cluster> cluster;
};

const std::string ask_for_slots = command_bytes({"CLUSTER", "SLOTS"});

}  // namespace

TEST_CASE("the map of slots is asked for before the first command, and once") {
  one_node world;
  const auto one = world.get("a");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  REQUIRE(world.sees(command_bytes({"GET", "a"})));
  world.send(bulk("A"));
  CHECK(one->text == "A");
  const auto two = world.get("b");
  REQUIRE(world.sees(command_bytes({"GET", "b"})));
  world.send("$-1\r\n");
  CHECK(two->text == "nothing");
  CHECK(world.cluster->owner(0) == world.address());
  CHECK(world.cluster->owner(16'383) == world.address());
}

TEST_CASE("a command that is sent in cycles is given up") {
  one_node world([](auto& o) { o.max_hops = 3; });
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  const std::string moved = "-MOVED 12182 " + world.address() + "\r\n";
  for (int hop = 0; hop < 4; ++hop) {
    REQUIRE(world.loop.run_until([&] { return !world.node.received().empty(); }));
    if (world.node.take() == ask_for_slots) {
      world.send(world.slots());
      --hop;
      continue;
    }
    CHECK_FALSE(call->over);
    world.send(moved);
  }
  REQUIRE(world.loop.run_until([&] { return call->over; }));
  CHECK((call->error == redis_errc::too_many_hops));
  CHECK(world.cluster->redirections() == 4);
}

TEST_CASE("a slot on its way is asked for at the other node, and the map stays") {
  one_node world;
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  REQUIRE(world.sees(command_bytes({"GET", "foo"})));
  world.send("-ASK 12182 " + world.address() + "\r\n");
  REQUIRE(world.sees(command_bytes({"ASKING"}) + command_bytes({"GET", "foo"})));
  world.send("+OK\r\n" + bulk("F"));
  CHECK(call->text == "F");
  const auto next = world.get("foo");
  REQUIRE(world.sees(command_bytes({"GET", "foo"})));
  world.send(bulk("G"));
  CHECK(next->text == "G");
}

TEST_CASE("a node that asks for patience is asked again until the deadline") {
  one_node world;
  const auto call = world.get("foo", 200ms);
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  for (const char* reply : {"-TRYAGAIN x\r\n", "-LOADING x\r\n", "-MASTERDOWN x\r\n"}) {
    REQUIRE(world.sees(command_bytes({"GET", "foo"})));
    world.send(reply);
  }
  REQUIRE(world.sees(command_bytes({"GET", "foo"})));
  world.send(bulk("F"));
  CHECK(call->text == "F");
  const auto late = world.get("foo", 50ms);
  REQUIRE(world.loop.run_until([&] {
    world.loop.advance(1ms);
    if (world.node.take() == command_bytes({"GET", "foo"})) world.node.send("-TRYAGAIN x\r\n");
    return late->over;
  }));
  CHECK((late->error == redis_errc::try_again));
}

TEST_CASE("a cluster that has no map yet is asked until the deadline, and the last reason is told") {
  for (const std::string answer : {"*0\r\n", "-CLUSTERDOWN x\r\n", "-LOADING x\r\n"}) {
    CAPTURE(answer);
    redis_nodes world(2, 2);
    for (const std::size_t i : {0U, 1U}) world.node(i).slots = answer;
    const auto call = world.get("foo", 300ms);
    const auto lucky = world.get("foo", 900ms);
    world.pass(298);
    CHECK_FALSE(call->over);
    world.pass(4);
    CHECK((call->error == (answer == "-LOADING x\r\n" ? redis_errc::loading : redis_errc::cluster_down)));
    world.say_master({1});
    world.pass(200);
    CHECK(lucky->text == "b:foo");
  }
}

TEST_CASE("a last question that has no time for its answer does not hide what was answered before") {
  {
    redis_nodes world(1, 1);
    world.node(0).slots = "*0\r\n";
    redis_batch batch;
    batch.add("GET", "bar");
    const auto call = world.get("foo", 400ms);
    const auto other = world.run(batch, 400ms);
    world.pass(350);
    world.node(0).frozen = true;  // the map is asked for once more
    world.pass(55);
    CHECK((call->error == redis_errc::cluster_down));
    CHECK((other->error == redis_errc::cluster_down));
    const auto next = world.get("foo", 130ms);
    world.pass(135);
    CHECK((next->error == errc::deadline_exceeded));
  }
  redis_nodes world(1, 1);
  world.say_master({0});
  world.node(0).answer = [&](const std::string& words) -> std::string {
    if (words == "CLUSTER SLOTS") return world.node(0).slots;
    return words.starts_with("GET ") || words.starts_with("SET ") ? "-TRYAGAIN x\r\n" : "+OK\r\n";
  };
  redis_batch reads(redis_replies::text);
  reads.add("GET", "bar");
  redis_batch writes;
  writes.add("SET", "bar", "v");
  const auto call = world.get("foo", 100ms);
  const auto read = world.run(reads, 100ms);
  const auto written = world.run(writes, 100ms);
  world.pass(20);
  world.node(0).frozen = true;
  world.pass(85);
  CHECK((call->error == redis_errc::try_again));
  CHECK((read->error == redis_errc::try_again));
  CHECK((written->error == errc::deadline_exceeded));  // it may have been run
}

TEST_CASE("an answer that is no map of slots teaches nothing, and fails the calls that wait for one") {
  for (const std::string answer :
       {"+OK\r\n", "-ERR This instance has cluster support disabled\r\n", "*1\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:20000\r\n*0\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:0\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n"}) {
    CAPTURE(answer);
    redis_nodes world(1, 1);
    world.node(0).slots = answer;
    const redis_errc why = answer.starts_with('-') ? redis_errc::no_cluster : redis_errc::unexpected_reply;
    redis_batch batch;
    batch.add("GET", "bar");
    const auto call = world.get("foo");
    const auto other = world.run(batch);
    world.pass(5);
    CHECK((call->error == why));
    CHECK((other->error == why));
    CHECK(world.cluster().owner(0).empty());
    CHECK(world.node(0).times("CLUSTER SLOTS") == 1);

    world.say_master({0});
    const auto next = world.get("foo");  // the pause is not over
    world.answer();
    CHECK((next->error == why));
    world.pass(100);
    const auto last = world.get("foo");
    world.answer();
    CHECK(last->text == "a:foo");
  }
}

TEST_CASE("nodes that refuse the password fail the calls at once") {
  redis_nodes world(2, 2);
  world.options.connection.password = "x";
  for (const std::size_t i : {0U, 1U})
    world.node(i).answer = [](const std::string&) { return "-WRONGPASS invalid username-password pair\r\n"; };
  redis_batch batch;
  batch.add("GET", "bar");
  const auto call = world.get("foo");
  const auto other = world.run(batch);
  world.pass(5);
  CHECK((call->error == redis_errc::wrong_password));
  CHECK((other->error == redis_errc::wrong_password));
  CHECK(world.cluster().refusal_of(call->error) == "WRONGPASS invalid username-password pair");
}

TEST_CASE("a replica that takes no more connections leaves a read to its master") {
  redis_nodes world(2, 1);
  world.options.reads = redis_cluster::reads::replicas;
  world.say_master({0, 1});
  world.node(1).answer = [](const std::string&) { return "-ERR max number of clients reached\r\n"; };
  redis_batch batch(redis_replies::text);
  batch.add("GET", "a");
  batch.add("GET", "b");
  const auto call = world.get("k");
  world.pass(20);
  CHECK(call->text == "a:k");
  world.pass(2'000);
  const auto both = world.run(batch);
  world.pass(20);
  CHECK(both->text == "a:a a:b ");
}

TEST_CASE("nodes that are not there fail the calls as soon as they were looked for") {
  redis_nodes world(2, 2);
  for (const std::size_t i : {0U, 1U}) world.node(i).server.stop_listening();
  const auto call = world.get("foo");
  world.pass(60);
  CHECK((call->error == std::errc::connection_refused));
  world.pass(2'000);  // they are looked for rarely by now
  const auto other = world.get("foo");
  world.pass(990);
  CHECK((other->error == std::errc::connection_refused));
}

TEST_CASE("a call whose node is not there while its time passes fails with that") {
  redis_nodes world(1, 1);
  world.say_master({0});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "a:foo");
  world.node(0).server.stop_listening();
  world.node(0).server.hang_up();
  world.pass(2'000);
  redis_batch batch;
  batch.add("GET", "bar");
  const auto call = world.get("foo", 20ms);
  const auto other = world.run(batch, 20ms);
  world.pass(22);
  CHECK((call->error == std::errc::connection_refused));
  CHECK((other->error == std::errc::connection_refused));
}

TEST_CASE("a node that may still answer is waited for, whatever the others say") {
  redis_nodes world(2, 2);
  world.node(0).server.stop_listening();
  world.node(1).frozen = true;
  world.say_master({1});
  const auto late = world.get("foo", 300ms);
  const auto lucky = world.get("foo", 900ms);
  world.pass(298);
  CHECK_FALSE(late->over);
  world.pass(4);
  CHECK((late->error == std::errc::connection_refused));
  world.node(1).frozen = false;
  world.pass(200);
  CHECK(lucky->text == "b:foo");
}

TEST_CASE("a node that does not answer takes no more than its share of a call's time") {
  redis_nodes world(3, 2);
  world.say_master({1});
  world.node(0).frozen = true;
  const auto call = world.get("foo", 50ms);
  const auto in_scope = world.get("bar", 0s, 50ms);
  world.pass(49);
  CHECK(call->text == "b:foo");
  CHECK(in_scope->text == "b:bar");
}

TEST_CASE("who is stopped while a node does not answer leaves the next node to the next one") {
  redis_nodes world(2, 2);
  world.say_master({1});
  world.node(0).frozen = true;
  const auto lost = world.get("foo", 0s, 5ms);
  world.pass(100);
  CHECK((lost->error == std::errc::operation_canceled));
  const auto next = world.get("foo", 0s, 5ms);
  world.pass(5);
  CHECK(next->text == "b:foo");
  CHECK(world.node(1).times("CLUSTER SLOTS") == 1);
}

TEST_CASE("a stop in front of a node that stands still makes the map stale, and one in front of another does not") {
  redis_nodes world(2, 1);
  world.say_master({1});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "b:foo");
  world.pass(100);
  CHECK(world.node(0).times("CLUSTER SLOTS") == 1);
  world.node(1).frozen = true;
  static_cast<void>(world.get("foo", 0s, 5ms));  // stopped soon, and then answered
  world.pass(10);
  world.node(1).frozen = false;
  world.pass(1);
  static_cast<void>(world.get("foo"));
  world.answer();
  CHECK(world.node(0).times("CLUSTER SLOTS") == 0);

  world.node(1).frozen = true;
  const auto lost = world.get("foo", 0s, 50ms);
  world.pass(100);
  CHECK((lost->error == std::errc::operation_canceled));
  world.say_master({0});
  const auto next = world.get("foo", 0s, 50ms);
  world.pass(50);
  CHECK(next->text == "a:foo");
}

TEST_CASE("who has a stale map does not spend all of its time on a new one") {
  redis_nodes world(3, 2);
  world.say_master({2});
  const auto known = world.get("foo");
  world.answer();
  REQUIRE(known->text == "c:foo");
  for (const std::size_t i : {0U, 1U, 2U}) world.node(i).frozen = true;
  static_cast<void>(world.get("foo", 0s, 50ms));
  world.pass(150);
  world.node(2).frozen = false;
  const auto next = world.get("foo", 0s, 20ms);
  world.pass(20);
  CHECK(next->text == "c:foo");
}

TEST_CASE("a replica that is away is not asked, and one that comes back is") {
  redis_nodes world(3, 1);
  world.options.reads = redis_cluster::reads::replicas;
  world.say_master({0, 1, 2});
  world.node(1).server.stop_listening();
  const auto first = world.get("k");
  world.pass(10);
  CHECK(first->text.ends_with("k"));
  for (int i = 0; i < 6; ++i) {
    const auto read = world.get("k");
    world.answer();
    CHECK(read->text == "c:k");
  }
  world.node(2).server.hang_up();
  world.node(2).server.stop_listening();
  world.pass(5);
  const auto from_master = world.get("k");
  world.answer();
  CHECK(from_master->text == "a:k");
  world.node(1).server.listen();
  world.pass(600);
  const auto back = world.get("k");
  world.answer();
  CHECK(back->text == "b:k");
}

TEST_CASE("a replica that stands still leaves time for its master, and is left alone for a while") {
  for (const bool in_batch : {false, true}) {
    for (const bool in_scope : {false, true}) {
      CAPTURE(in_batch);
      CAPTURE(in_scope);
      redis_nodes world(2, 1);
      world.options.reads = redis_cluster::reads::replicas;
      world.say_master({0, 1});
      redis_batch batch(redis_replies::text);
      batch.add("GET", "k");
      const duration own = in_scope ? duration(0s) : duration(100ms);
      const duration around = in_scope ? duration(100ms) : duration::max();
      const std::string end = in_batch ? "k " : "k";
      const auto read = [&] { return in_batch ? world.run(batch, own, around) : world.get("k", own, around); };
      const auto known = read();
      world.answer();
      REQUIRE(known->text == "b:" + end);
      world.node(1).frozen = true;
      const auto first = read();
      world.pass(52);
      CHECK(first->text == "a:" + end);
      const auto second = read();
      world.answer();
      CHECK(second->text == "a:" + end);
      world.node(1).frozen = false;
      world.pass(1'600);
      const auto third = read();
      world.answer();
      CHECK(third->text == "b:" + end);
    }
  }
}

TEST_CASE("who asks for the map while another one does has an answer of its own") {
  redis_nodes world(1, 1);
  world.say_master({0});
  world.node(0).frozen = true;
  const auto call = world.get("foo");
  world.answer();
  const auto told = std::make_shared<call_end>();
  const auto refresh = [](std::shared_ptr<call_end> end, redis_cluster& in) -> task<void> {
    const auto done = co_await in.refresh();
    end->over = true;
    if (!done) end->error = done.error();
  };
  world.loop.io().spawn(refresh(told, world.cluster()));
  world.pass(20);
  CHECK_FALSE(told->over);
  world.node(0).frozen = false;
  world.pass(20);
  CHECK((told->over && !told->error));
  CHECK(call->text == "a:foo");
  CHECK(world.node(0).times("CLUSTER SLOTS") == 2);
}

TEST_CASE("errors of the server that are no redirections are those of the call") {
  one_node world;
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  REQUIRE(world.sees(command_bytes({"GET", "foo"})));
  world.send("-WRONGTYPE x\r\n");
  CHECK((call->error == redis_errc::wrong_type));
}

TEST_CASE("calls of a cluster that is closed are refused") {
  one_node world;
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.cluster->close();
  REQUIRE(world.loop.run_until([&] { return call->over; }));
  CHECK((call->error == errc::closed));
}

TEST_CASE("a real cluster: keys of all nodes, batches, slots that move, a node that dies, reads from a replica") {
  real_cluster world;
  run_on_loop([&](loop& io) -> task<void> {
    redis_cluster cluster(io, world.options());
    arena memory;
    for (int i = 0; i < 50; ++i) {
      const std::string key = "key:" + std::to_string(i);
      CHECK((co_await cluster.set(key, std::to_string(i))).has_value());
      CHECK(**co_await cluster.get(key, memory) == std::to_string(i));
    }
    CHECK(cluster.redirections() == 0);

    redis_batch batch;
    for (int i = 0; i < 50; ++i) batch.add("GET", resp_joined{"key:", i});
    auto got = co_await cluster.run(batch, memory);
    REQUIRE(got.has_value());
    for (std::size_t i = 0; i < 50; ++i) CHECK((*got)[i].text() == std::to_string(i));

    // foo lies at the third node, and bar at the first.
    CHECK(cluster.owner(braid::detail::find_redis_slot("foo")) == "127.0.0.1:" + std::to_string(world.node(2).port()));
    static_cast<void>(co_await world.tell(io, 1, "CLUSTER SETSLOT 12182 IMPORTING " + world.id(2)));
    static_cast<void>(co_await world.tell(io, 2, "CLUSTER SETSLOT 12182 MIGRATING " + world.id(1)));
    CHECK((co_await cluster.set("foo", "on its way")).has_value());
    CHECK(**co_await cluster.get("foo", memory) == "on its way");
    CHECK(cluster.redirections() == 2);
    for (std::size_t node = 1; node <= 2; ++node)
      CHECK(co_await world.tell(io, node, "CLUSTER SETSLOT 12182 NODE " + world.id(1)) == "OK");
    // Any node that is asked for the map has heard of it.
    for (bool heard = false; !heard;) {
      const std::string known = co_await world.tell(io, 0, "CLUSTER NODES");
      heard = known.find(" 12182") != std::string::npos;
      if (!heard) co_await sleep_for(1ms);
    }
    CHECK(**co_await cluster.get("foo", memory) == "on its way");
    CHECK(cluster.redirections() == 3);
    CHECK(cluster.owner(braid::detail::find_redis_slot("foo")) == "127.0.0.1:" + std::to_string(world.node(1).port()));

    redis_cluster::options from_replicas = world.options();
    from_replicas.reads = redis_cluster::reads::replicas;
    redis_cluster reader(io, from_replicas);
    CHECK((co_await cluster.set("bar", "B")).has_value());
    // A replica is on the map once the others have heard that it has data.
    std::string asked;
    while (asked.find("cmdstat_get") == std::string::npos) {
      static_cast<void>(co_await reader.refresh());
      static_cast<void>(co_await reader.get("bar", memory));
      asked = co_await world.tell(io, 3, "INFO commandstats");
      co_await sleep_for(2ms);
    }
    while (!(co_await reader.get("bar", memory)).value_or(std::nullopt)) co_await sleep_for(1ms);

    world.node(1).kill();
    CHECK_FALSE((co_await cluster.get("foo", memory, 100ms)).has_value());
    CHECK(**co_await cluster.get("bar", memory) == "B");
    world.node(1).start();
    while (!(co_await cluster.get("foo", memory)).has_value()) co_await sleep_for(1ms);
    CHECK(cluster.owner(braid::detail::find_redis_slot("foo")) == "127.0.0.1:" + std::to_string(world.node(1).port()));
  });
}

TEST_CASE("a host that a node does not know is its own, or the address in the metadata") {
  const auto owner_by = [](const std::string& host, const std::string& metadata) {
    one_node world;
    const auto call = world.get("a");
    REQUIRE(world.sees(ask_for_slots));
    world.send("*1\r\n*3\r\n:0\r\n:16383\r\n*" + std::string(metadata.empty() ? "2" : "4") + "\r\n" + host + ":" +
               std::to_string(world.node.port()) + "\r\n" + (metadata.empty() ? "" : bulk("id") + metadata));
    std::string owner = world.cluster->owner(0);
    owner.resize(owner.rfind(':'));
    return owner;
  };
  const std::string with_ip = "*4\r\n" + bulk("hostname") + bulk("a.test") + bulk("ip") + bulk("127.0.0.2");
  const std::string without_ip = "*2\r\n" + bulk("hostname") + bulk("a.test");
  for (const std::string& host : {bulk("?"), bulk(""), std::string("$-1\r\n"), std::string("_\r\n")}) {
    CAPTURE(host);
    CHECK(owner_by(host, "") == "127.0.0.1");
    CHECK(owner_by(host, without_ip) == "127.0.0.1");
    CHECK(owner_by(host, with_ip) == (host == bulk("?") ? "127.0.0.2" : "127.0.0.1"));
  }
  CHECK(owner_by(bulk("?"), "%1\r\n" + bulk("ip") + bulk("127.0.0.2")) == "127.0.0.2");
  CHECK(owner_by(bulk("?"), "*2\r\n" + bulk("ip") + bulk("?")) == "127.0.0.1");
  CHECK(owner_by(bulk("127.0.0.3"), with_ip) == "127.0.0.3");
}

TEST_CASE("a redirection to a host that the node does not know leads to the node itself") {
  one_node world;
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  REQUIRE(world.sees(command_bytes({"GET", "foo"})));
  world.send("-ASK 12182 ?:" + std::to_string(world.node.port()) + "\r\n");
  REQUIRE(world.sees(command_bytes({"ASKING"}) + command_bytes({"GET", "foo"})));
  world.send("+OK\r\n" + bulk("F"));
  CHECK(call->text == "F");
}
