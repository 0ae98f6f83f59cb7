// tests/net/redis_cluster_test.cpp: commands find their node: with a node that the test plays, and with a real cluster.
#include <braid/net/redis_cluster.hpp>

#include <tests/net/redis_scene.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_error.hpp>

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
  explicit one_node(std::function<void(redis_cluster_options&)> change = [](auto&) {}) {
    redis_cluster_options options;
    options.nodes = {{.host = "127.0.0.1", .port = node.port()}};
    options.connection.backoff.seed = 1;
    change(options);
    cluster.emplace(loop.io(), options);
  }
  ~one_node() {
    cluster->close();
    loop.turn(100);
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
    return loop.turn_until([&] {
      loop.advance(1ms);
      node.accept();
      return node.received() == sent;
    }) && node.take() == sent;
  }
  void send(std::string_view bytes) {
    node.send(bytes);
    REQUIRE(loop.turn_until([&, turns = 0]() mutable { return ++turns > 50; }));
  }
  [[nodiscard]] auto address() const -> std::string { return "127.0.0.1:" + std::to_string(node.port()); }
  /// What CLUSTER SLOTS answers where this node has all of them.
  [[nodiscard]] auto slots() const -> std::string {
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1") + ":" + std::to_string(node.port()) + "\r\n";
  }

  turned_loop loop;
  scripted_server node{scripted_server::place::port};
  std::optional<redis_cluster> cluster;
};

const std::string ask_for_slots = command_bytes({"CLUSTER", "SLOTS"});

/// Three masters and a replica of the first, with the slots spread over them.
class real_cluster {
 public:
  real_cluster() {
    for (int i = 0; i < 4; ++i)
      nodes_.push_back(std::make_unique<redis_server>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port()), "--cluster-node-timeout", "3000",
          "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"}));
    run_on_loop([this](loop& io) { return meet(io); });
  }

  [[nodiscard]] auto node(std::size_t number) -> redis_server& { return *nodes_[number]; }
  [[nodiscard]] auto id(std::size_t number) const -> const std::string& { return ids_[number]; }
  [[nodiscard]] auto options() const -> redis_cluster_options {
    redis_cluster_options out;
    out.nodes = {{.host = "127.0.0.1", .port = nodes_[0]->port()}, {.host = "127.0.0.1", .port = nodes_[2]->port()}};
    out.connection.request_timeout = 20s;
    out.connection.connect_timeout = 20s;
    return out;
  }

  /// A command to one node, whatever the cluster thinks, its words apart by spaces; gives its reply as text.
  auto tell(loop& io, std::size_t number, std::string command) -> task<std::string> {
    redis_options at;
    at.port = nodes_[number]->port();
    at.request_timeout = 20s;
    redis_connection redis(io, at);
    arena memory;
    std::vector<std::string_view> words;
    for (std::string_view rest = command; !rest.empty();) {
      const std::size_t size = std::min(rest.find(' '), rest.size());
      words.push_back(rest.substr(0, size));
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
    const auto got = co_await redis.command(words, memory);
    REQUIRE(got.has_value());
    co_return got->has_text() ? std::string(got->text()) : std::string();
  }

 private:
  auto meet(loop& io) -> task<void> {
    constexpr std::array<const char*, 3> first{"0", "5461", "10923"};
    constexpr std::array<const char*, 3> last{"5460", "10922", "16383"};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ids_.push_back(co_await tell(io, i, "CLUSTER MYID"));
      static_cast<void>(co_await tell(io, i, "CLUSTER SET-CONFIG-EPOCH " + std::to_string(i + 1)));
      if (i < 3) CHECK(co_await tell(io, i, std::string("CLUSTER ADDSLOTSRANGE ") + first[i] + " " + last[i]) == "OK");
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const std::string bus = co_await bus_port(io, i);
      CHECK(co_await tell(io, 0, "CLUSTER MEET 127.0.0.1 " + std::to_string(nodes_[i]->port()) + " " + bus) == "OK");
    }
    while (co_await tell(io, 3, "CLUSTER REPLICATE " + ids_[0]) != "OK") co_await sleep_for(5ms);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (;;) {
        const std::string info = co_await tell(io, i, "CLUSTER INFO");
        const std::string known = co_await tell(io, i, "CLUSTER NODES");
        const bool complete = info.find("cluster_state:ok") != std::string::npos &&
                              info.find("cluster_known_nodes:4") != std::string::npos &&
                              info.find("cluster_size:3") != std::string::npos &&
                              known.find("slave " + ids_[0]) != std::string::npos;
        if (complete) break;
        co_await sleep_for(5ms);
      }
    }
    while ((co_await tell(io, 3, "INFO replication")).find("master_link_status:up") == std::string::npos)
      co_await sleep_for(5ms);
  }

  auto bus_port(loop& io, std::size_t number) -> task<std::string> {
    const std::string myself = co_await tell(io, number, "CLUSTER NODES");
    const std::size_t at = myself.find('@') + 1;
    co_return myself.substr(at, myself.find_first_of(", ", at) - at);
  }

  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<std::string> ids_;
};

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

TEST_CASE("a command that is sent in circles is given up") {
  one_node world([](auto& o) { o.most_hops = 3; });
  const auto call = world.get("foo");
  REQUIRE(world.sees(ask_for_slots));
  world.send(world.slots());
  const std::string moved = "-MOVED 12182 " + world.address() + "\r\n";
  for (int hop = 0; hop < 4; ++hop) {
    REQUIRE(world.loop.turn_until([&] { return !world.node.received().empty(); }));
    if (world.node.take() == ask_for_slots) {
      world.send(world.slots());
      --hop;
      continue;
    }
    CHECK_FALSE(call->over);
    world.send(moved);
  }
  REQUIRE(world.loop.turn_until([&] { return call->over; }));
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
  REQUIRE(world.loop.turn_until([&] {
    world.loop.advance(1ms);
    if (world.node.take() == command_bytes({"GET", "foo"})) world.node.send("-TRYAGAIN x\r\n");
    return late->over;
  }));
  CHECK((late->error == errc::deadline_exceeded));
}

TEST_CASE("an answer that is no map of slots teaches nothing, and the call ends in time") {
  for (const std::string answer :
       {"*0\r\n", "+OK\r\n", "-ERR This instance has cluster support disabled\r\n", "*1\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:20000\r\n*0\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:0\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n"}) {
    CAPTURE(answer);
    one_node world;
    const auto call = world.get("foo", 300ms);
    REQUIRE(world.loop.turn_until([&] {
      world.loop.advance(1ms);
      world.node.accept();
      if (world.node.take() == ask_for_slots) world.node.send(answer);
      return call->over;
    }));
    CHECK((call->error == errc::deadline_exceeded));
    CHECK(world.cluster->owner(0).empty());
  }
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
  REQUIRE(world.loop.turn_until([&] { return call->over; }));
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
    CHECK(cluster.owner(redis_slot_of("foo")) == "127.0.0.1:" + std::to_string(world.node(2).port()));
    static_cast<void>(co_await world.tell(io, 1, "CLUSTER SETSLOT 12182 IMPORTING " + world.id(2)));
    static_cast<void>(co_await world.tell(io, 2, "CLUSTER SETSLOT 12182 MIGRATING " + world.id(1)));
    CHECK((co_await cluster.set("foo", "on its way")).has_value());
    CHECK(**co_await cluster.get("foo", memory) == "on its way");
    CHECK(cluster.redirections() == 2);
    for (std::size_t node = 1; node <= 2; ++node)
      CHECK(co_await world.tell(io, node, "CLUSTER SETSLOT 12182 NODE " + world.id(1)) == "OK");
    CHECK(**co_await cluster.get("foo", memory) == "on its way");
    CHECK(cluster.redirections() == 3);
    CHECK(cluster.owner(redis_slot_of("foo")) == "127.0.0.1:" + std::to_string(world.node(1).port()));

    redis_cluster_options from_replicas = world.options();
    from_replicas.reads = redis_reads::replicas;
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
    CHECK(cluster.owner(redis_slot_of("foo")) == "127.0.0.1:" + std::to_string(world.node(1).port()));
  });
}
