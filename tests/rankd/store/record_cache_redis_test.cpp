// tests/rankd/store/record_cache_redis_test.cpp: a record cache in front of real servers: other writers, restarts,
// servers without tracking, a cluster.
#include <rankd/store/record_cache.hpp>
#include <rankd/store/redis_store.hpp>
#include <rankd/store/shared_reads.hpp>
#include <rankd/store/store_layer.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::real_cluster;
using braid::testing::redis_server;
using braid::testing::watchdog;
using rankd::testing::ask_store;

namespace {

/// Counts the questions that reach the store.
class counted final : public store_layer {
 public:
  using store_layer::store_layer;
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    asked.fetch_add(1, braid::relaxed);
    return store_layer::ask(question, arena);
  }
  braid::atomic<int> asked{0};
};

auto patient(redis_address at) -> redis_address {
  at.backoff = {.first = 1ms, .max_delay = 10ms, .seed = 1};
  at.request_timeout = at.connect_timeout = at.silence = at.silence_when_left = 20s;  // a busy machine is no fault
  return at;
}

/// A runtime whose requests share a cache in front of a server, and a writer beside it.
struct world {
  explicit world(const redis_address& at, record_cache_options options = {}) : server(patient(at)) {
    options.bytes = 1U << 20U;
    reads = std::make_unique<shared_reads>(*stores, options);
    on = braid::runtime::create({.workers = 1}).value();
  }
  ~world() { on.reset(); }

  /// The countries of some users, for a request of its own.
  auto told(std::vector<std::int64_t> users) -> std::string { return on->run(tell(*this, std::move(users))); }
  static auto tell(world& in, std::vector<std::int64_t> users) -> braid::task<std::string> {
    braid::arena memory;
    const auto request = in.reads->for_request(in.stores);
    store* const from = request_reads::list(request)->front();
    const auto got = co_await ask_store(*from, field_read{{"user:", users}, "country"}, memory);
    if (!got) co_return "failed";
    std::string out;
    for (const auto& each : *got) out += each ? std::string(*each) : "-";
    co_return out;
  }
  void write(std::string_view user, std::string_view country) { on->run(write_in(*this, user, country)); }
  static auto write_in(const world& in, std::string_view user, std::string_view country) -> braid::task<void> {
    braid::arena memory;
    const std::vector<std::string_view> words{"HSET", user, "country", country};
    if (in.server.is_cluster()) {
      braid::redis_cluster cluster(*braid::loop::current(), in.server.as_cluster());
      CHECK((co_await cluster.command(words, memory)).has_value());
    } else {
      braid::redis_connection redis(*braid::loop::current(), in.server);
      CHECK((co_await redis.command(words, memory)).has_value());
    }
  }
  auto counts() const -> record_cache_counts { return reads->records(0); }

  redis_address server;
  redis_store store_behind{{.endpoint_id = "ep_0001", .server = server, .connections = 2}};
  counted behind{store_behind};
  store_list stores = std::make_shared<const std::vector<store*>>(std::vector<store*>{&behind});
  std::unique_ptr<shared_reads> reads;
  std::unique_ptr<braid::runtime> on;  // ends first
};

auto at(const redis_server& server) -> redis_address {
  braid::redis_options options;
  options.port = server.port();
  return options;
}

}  // namespace

TEST_CASE("a warm cache asks the server nothing, and another writer is seen") {
  const redis_server server;
  world in(at(server));
  in.write("user:1", "US");
  CHECK(in.told({1, 2}) == "US-");
  CHECK(in.counts().tracked == 1);
  for (int i = 0; i < 100; ++i) CHECK(in.told({1, 2}) == "US-");
  CHECK(in.behind.asked.load(braid::relaxed) == 1);
  in.write("user:1", "CA");
  CHECK(eventually([&] { return in.told({1, 2}) == "CA-"; }));
  in.write("user:2", "MX");  // what was absent is reported as well
  CHECK(eventually([&] { return in.told({1, 2}) == "CAMX"; }));
  CHECK(in.behind.asked.load(braid::relaxed) == 3);
  CHECK(in.counts().changed == 2);
  CHECK(in.counts().emptied == 0);
}

TEST_CASE("a server that goes away empties the cache, and its successor is read anew") {
  redis_server server;
  world in(at(server));
  in.write("user:1", "US");
  CHECK(in.told({1}) == "US");
  server.kill();
  CHECK(eventually([&] { return in.counts().emptied == 1; }));
  CHECK(in.counts().entries == 0);
  server.start();  // without data
  CHECK(eventually([&] { return in.told({1}) == "-"; }));
  CHECK(in.counts().tracked == 1);
  in.write("user:1", "CA");
  CHECK(eventually([&] { return in.told({1}) == "CA"; }));
}

TEST_CASE("values of a server without tracking are used up to their age") {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--rename-command", "HELLO", ""}, {"--rename-command", "CLIENT", ""}}) {
    const redis_server server(more);
    braid::manual_clock clock;
    world in(at(server), {.age = 1s, .absent_age = 100ms, .clock = &clock});
    in.write("user:1", "US");
    CHECK(in.told({1, 2}) == "US-");
    in.write("user:1", "CA");
    in.write("user:2", "MX");
    CHECK(in.told({1, 2}) == "US-");
    clock.advance(100ms);
    CHECK(in.told({1, 2}) == "USMX");
    clock.advance(900ms);
    CHECK(in.told({1, 2}) == "CAMX");
  }
}

TEST_CASE("the nodes of a cluster report to one cache") {
  const watchdog limit(120s);
  real_cluster nodes;
  const braid::redis_cluster::options options = nodes.options();
  redis_address place(options.connection);
  place.nodes = options.nodes;
  world in(place);
  const std::vector<std::int64_t> users{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(in.told(users) == "----------");
  CHECK(in.told(users) == "----------");
  CHECK(in.behind.asked.load(braid::relaxed) == 1);
  for (int user = 1; user <= 10; ++user) in.write("user:" + std::to_string(user), "x");
  CHECK(eventually([&] { return in.told(users) == "xxxxxxxxxx"; }));
  CHECK(in.counts().changed == 10);
  CHECK(in.counts().emptied == 0);
}
