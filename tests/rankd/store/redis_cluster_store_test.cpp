// tests/rankd/store/redis_cluster_store_test.cpp: a real cluster as a store: filled, asked, with slots that move and a
// node that dies.
#include <rankd/store/embedded.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/child.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/net/redis_cluster.hpp>
#include <braid/runtime/runtime.hpp>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::real_cluster;
using braid::testing::run_on_loop;
using braid::testing::scratch_folder;
using braid::testing::watchdog;
using rankd::testing::ask_store;

namespace {

namespace fs = std::filesystem;
using files = std::vector<fs::path>;
using ids = std::vector<std::int64_t>;
constexpr int users = 200;

auto shared_cluster() -> real_cluster& {
  static real_cluster world;
  return world;
}

auto place_at(const real_cluster& world) -> redis_address {
  const braid::redis_cluster::options options = world.options();
  redis_address place(options.connection);
  place.nodes = options.nodes;
  return place;
}

auto all_users() -> ids {
  ids out;
  for (int i = 0; i <= users; ++i) out.push_back(i);
  return out;
}

auto many_users() -> std::string {
  std::string lines;
  for (int i = 1; i <= users; ++i) {
    const std::string id = std::to_string(i);
    lines += R"({"hash":"user:)" + id + R"(","fields":{"country":")" + id + R"(","title":"t"}})" + "\n";
    lines += R"({"list":"follow:)" + id + R"(","values":[)" + id + R"(,2,"x"]})" + "\n";
  }
  return lines;
}

/// What a store says of all users, as one text.
auto answers(store& from) -> std::string {
  const auto on = braid::runtime::create({.workers = 1}).value();
  braid::arena memory;
  const ids who = all_users();
  std::string out;
  const auto countries = on->run(ask_store(from, field_read{{"user:", who}, "country"}, memory));
  if (!countries) return from.explain(countries.error()).code;
  for (const auto& each : *countries) out += std::string(each.value_or("-")) + " ";
  const auto hashes = on->run(ask_store(from, hash_read{{"user:", who}}, memory));
  if (!hashes) return from.explain(hashes.error()).code;
  for (const auto& each : *hashes)
    for (const hash_field& field : each) out += std::string(field.name) + "=" + std::string(field.value) + " ";
  const auto lists = on->run(ask_store(from, list_read{{"follow:", who}, 10}, memory));
  if (!lists) return from.explain(lists.error()).code;
  for (const auto& each : lists->lists)
    for (const std::int64_t id : each) out += std::to_string(id) + " ";
  return out + std::to_string(lists->malformed);
}

auto store_at(redis_address place) -> redis_store { return redis_store({.endpoint_id = "ep_0001", .server = place}); }

/// What the data would answer from one server, which has no slots.
auto expected_answers() -> std::string {
  std::string out = "- ";
  for (int i = 1; i <= users; ++i) out += std::to_string(i) + " ";
  for (int i = 1; i <= users; ++i) out += "country=" + std::to_string(i) + " title=t ";
  for (int i = 1; i <= users; ++i) out += std::to_string(i) + " 2 ";
  return out + std::to_string(users);
}

/// A reply from the node that has the key.
auto ask(const real_cluster& world, std::vector<std::string_view> words) -> std::string {
  std::string out;
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_cluster redis(io, world.options());
    braid::arena memory;
    auto asking = redis.command(words, memory);
    const auto reply = co_await std::move(asking);
    if (!reply)
      out = reply.error().message();
    else if (reply->has_text())
      out = reply->text();
    else
      out = reply->type() == braid::resp_type::integer ? std::to_string(reply->integer()) : "nothing";
  });
  return out;
}

void forget_all(real_cluster& world) {
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    for (std::size_t node = 0; node < 3; ++node) static_cast<void>(co_await world.tell(io, node, "FLUSHALL"));
  });
}

}  // namespace

TEST_CASE("a cluster answers all three commands in the words of its data, from masters and from replicas") {
  const watchdog guard(60s);
  real_cluster& world = shared_cluster();
  forget_all(world);
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_users())};
  const auto loaded = load_redis(place_at(world), data, {.piece_bytes = 2'000});
  REQUIRE(loaded.has_value());
  CHECK(loaded->records == 2 * users);
  CHECK(ask(world, {"EXISTS", redis_load_key}) == "0");
  redis_store from = store_at(place_at(world));
  CHECK(answers(from) == expected_answers());

  redis_address behind = place_at(world);
  behind.reads = braid::redis_cluster::reads::replicas;
  redis_store replicas = store_at(behind);
  CHECK(eventually([&] { return answers(replicas) == expected_answers(); }));
}

TEST_CASE("the same load again, and one after a kill, end in the same data") {
  const watchdog guard(60s);
  real_cluster& world = shared_cluster();
  forget_all(world);
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_users())};
  int pieces = 0;
  const auto killed = braid::testing::run_in_child([&] {
    load_redis(place_at(world), data, {.piece_bytes = 2'000, .progress = [&](const load_progress& now) {
                                         if (now.stage == load_stage::switching && ++pieces == 4)
                                           ::kill(::getpid(), SIGKILL);
                                       }});
  });
  CHECK(killed.signal == SIGKILL);
  CHECK(ask(world, {"EXISTS", redis_load_key}) == "1");
  CHECK(ask(world, {"EXISTS", "user:200"}) == "0");

  ask(world, {"DEL", "user:1"});  // shows that what was done is not done again
  const auto resumed = load_redis(place_at(world), data, {.piece_bytes = 2'000});
  REQUIRE(resumed.has_value());
  CHECK(resumed->resumed_at > 0);
  CHECK(ask(world, {"EXISTS", "user:1"}) == "0");
  CHECK(ask(world, {"EXISTS", redis_load_key}) == "0");

  redis_store from = store_at(place_at(world));
  for (int round = 0; round < 2; ++round) {
    REQUIRE(load_redis(place_at(world), data, {.piece_bytes = 3'000}).has_value());
    CHECK(answers(from) == expected_answers());
  }
}

TEST_CASE("a load into a cluster leaves other keys and no drafts, and takes keys with braces") {
  const watchdog guard(60s);
  real_cluster& world = shared_cluster();
  forget_all(world);
  const scratch_folder folder;
  ask(world, {"SET", "other", "x"});
  ask(world, {"SET", "{a}b", "of another kind"});
  ask(world, {"SET", "gone", "x"});
  const files data{folder.write("a.ndjson", R"({"hash":"{a}b","fields":{"f":"1"}}
{"hash":"a{b","fields":{"f":"2"}}
{"hash":"a{}b","fields":{"f":"3"}}
{"hash":"a}b{c}","fields":{"f":"4"}}
{"list":"gone","values":[]}
)")};
  REQUIRE(load_redis(place_at(world), data, {}).has_value());
  CHECK(ask(world, {"HGET", "{a}b", "f"}) == "1");
  CHECK(ask(world, {"HGET", "a{b", "f"}) == "2");
  CHECK(ask(world, {"HGET", "a{}b", "f"}) == "3");
  CHECK(ask(world, {"HGET", "a}b{c}", "f"}) == "4");
  CHECK(ask(world, {"EXISTS", "gone"}) == "0");
  CHECK(ask(world, {"GET", "other"}) == "x");
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    std::string all;
    for (std::size_t node = 0; node < 3; ++node)
      all += co_await world.tell(io, node, "EVAL return(table.concat(redis.call('KEYS','*'),'|')) 0");
    CHECK(all.find("rankd:") == std::string::npos);
    CHECK(all.find("other") != std::string::npos);
  });
}

TEST_CASE("slots that move while the store is asked change no answer") {
  const watchdog guard(60s);
  real_cluster& world = shared_cluster();
  forget_all(world);
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_users())};
  REQUIRE(load_redis(place_at(world), data, {}).has_value());
  redis_store from = store_at(place_at(world));
  REQUIRE(answers(from) == expected_answers());
  const std::uint16_t slot = braid::detail::find_redis_slot("user:7");
  const std::size_t owner = slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
  const std::size_t heir = owner == 2 ? 1 : 2;
  const std::string number = std::to_string(slot);
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    static_cast<void>(co_await world.tell(io, heir, "CLUSTER SETSLOT " + number + " IMPORTING " + world.id(owner)));
    static_cast<void>(co_await world.tell(io, owner, "CLUSTER SETSLOT " + number + " MIGRATING " + world.id(heir)));
    static_cast<void>(co_await world.tell(
        io, owner, "MIGRATE 127.0.0.1 " + std::to_string(world.node(heir).port()) + " user:7 0 5000"));
  });
  CHECK(answers(from) == expected_answers());
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    for (const std::size_t node : {heir, owner})
      CHECK(co_await world.tell(io, node, "CLUSTER SETSLOT " + number + " NODE " + world.id(heir)) == "OK");
  });
  CHECK(answers(from) == expected_answers());

  // A node that is away fails batches at the deadline, and is back when it is.
  redis_address hasty = place_at(world);
  hasty.request_timeout = 100ms;
  hasty.connect_timeout = 100ms;
  redis_store late = store_at(hasty);
  world.node(1).kill();
  CHECK(eventually([&] { return answers(late) == "store_unreachable"; }));  // it may be too late for the reason
  world.node(1).start();
  CHECK(eventually([&] { return load_redis(place_at(world), data, {}).has_value(); }));
  CHECK(answers(from) == expected_answers());
}
