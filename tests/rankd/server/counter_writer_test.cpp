// tests/rankd/server/counter_writer_test.cpp: what events write to a real Redis, and without one.
#include <rankd/server/events/counter_writer.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/events/embedded_counters.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/store/counted_store.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_store.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/server/counted_project.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/base/arena.hpp>
#include <braid/net/redis_connection.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::redis_server;
using braid::testing::run_on_loop;
using rankd::testing::ask_store;
using rankd::testing::counted_project;

namespace {

auto at_port(const redis_server& server) -> std::string {
  return "{ type = \"static\", host = \"127.0.0.1\", port = " + std::to_string(server.port()) + " }";
}

/// The reply to a command as text.
auto ask(const redis_server& server, std::vector<std::string_view> words) -> std::string {
  std::string out;
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_options options;
    options.port = server.port();
    options.request_timeout = options.connect_timeout = std::chrono::seconds(20);
    braid::redis_connection redis(io, options);
    braid::arena memory;
    const auto reply = co_await redis.command(words, memory);
    if (reply)
      out = reply->type() == braid::resp_type::integer ? std::to_string(reply->integer()) : std::string(reply->text());
  });
  return out;
}

auto step(std::size_t counter, std::string key, scalar by) -> rule_step {
  return {.rule = counter, .key = std::move(key), .by = std::move(by)};
}

/// A play of item 7 so many seconds after a time of about now.
auto play(int seconds, scalar by = std::int64_t{1}) -> rule_step {
  return {.rule = 3,
          .key = "stats:7",
          .by = std::move(by),
          .at = std::chrono::milliseconds(1'795'000'000'000) + std::chrono::seconds(seconds)};
}

}  // namespace

TEST_CASE("counters are added up in hashes, and those of a window end") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  writer->add({step(0, "stats:7", std::int64_t{1}), step(0, "stats:7", std::int64_t{1}), step(1, "spent", 0.5)});
  writer->add({step(1, "spent", 2.25)});
  CHECK(eventually([&] { return writer->counts().written == 4; }));
  CHECK(ask(server, {"HGET", "stats:7", "clicks"}) == "2");
  CHECK(ask(server, {"TTL", "stats:7"}) == "-1");
  CHECK(ask(server, {"HGET", "spent", "spent"}) == "2.75");
  const int left = std::stoi(ask(server, {"TTL", "spent"}));
  CHECK((left > 3000 && left <= 3600));
}

TEST_CASE("whole amounts and fractions are added to one field") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  writer->add({step(1, "spent", 19.75), step(1, "spent", std::int64_t{20}), step(1, "spent", 0.5)});
  writer->add({step(1, "whole", std::int64_t{20}), step(2, "orders", std::int64_t{3})});
  CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == 5; }));
  CHECK(writer->counts().lost == 0);
  CHECK(ask(server, {"HGET", "spent", "spent"}) == "40.25");
  CHECK(ask(server, {"HGET", "whole", "spent"}) == "20");
  CHECK(ask(server, {"HGET", "orders", "pieces"}) == "3");
  const std::string calls = ask(server, {"INFO", "commandstats"});
  CHECK(calls.find("cmdstat_hincrby:calls=1,") != std::string::npos);
  CHECK(calls.find("cmdstat_hincrbyfloat:calls=4,") != std::string::npos);
}

TEST_CASE("what was counted with a half-life fades, whichever event comes first") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  const auto after = [&](std::vector<rule_step> steps) {
    const std::uint64_t before = writer->counts().written + writer->counts().lost;
    const std::size_t more = steps.size();
    writer->add(std::move(steps));
    CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == before + more; }));
    return ask(server, {"HGET", "stats:7", "plays"}) + " at " + ask(server, {"HGET", "stats:7", "plays_at"});
  };
  CHECK(after({play(0)}) == "1 at 1795000000000");
  CHECK(after({play(10)}) == "1.5 at 1795000010000");
  CHECK(after({play(30)}) == "1.375 at 1795000030000");
  CHECK(after({play(20)}) == "1.875 at 1795000030000");  // late by a half-life
  CHECK(after({play(30, 0.125), play(30, std::int64_t{-1})}) == "1 at 1795000030000");
  CHECK(after({play(1'000'000)}) == "1 at 1796000000000");  // what was long ago is nothing
  CHECK(writer->counts().lost == 0);

  // The same events in another order, exactly.
  CHECK(ask(server, {"DEL", "stats:7"}) == "1");
  CHECK(after({play(30), play(20), play(0), play(10)}) == "1.875 at 1795000030000");
  const int left = std::stoi(ask(server, {"TTL", "stats:7"}));
  CHECK((left > 500 && left <= 600));

  // A counter of before, and what is none.
  CHECK(ask(server, {"HDEL", "stats:7", "plays_at"}) == "1");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "40"}) == "0");
  CHECK(after({play(50)}) == "41 at 1795000050000");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "many"}) == "0");
  CHECK(after({play(60)}) == "many at 1795000050000");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "1e308"}) == "0");
  CHECK(after({play(50, 1.7e308)}) == "1e308 at 1795000050000");
  CHECK(writer->counts().lost == 2);
}

TEST_CASE("a plan reads what has faded until its request, by the time that this gives") {
  const redis_server server;
  counted_project project(at_port(server));
  {
    const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
    writer->add({play(0), play(10)});
    CHECK(eventually([&] { return writer->counts().written == 2; }));
  }
  braid::redis_options at;
  at.port = server.port();
  redis_store from({.endpoint_id = "ep_0001", .server = at});
  rankd::testing::engine_world in(*project.declared, {&from}, 1);
  // plays * 2 ^ ((plays_at - now) / 10000)
  const bound_plan& plan = in.bind(rankd::testing::artifact_of(
      R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[]}},)" +
          rankd::testing::node("h", "core::hash", "c",
                               R"({"endpoint":"ep_0001","key":"stats:{id}","keys":[8001,8002]})") +
          "," + rankd::testing::node("s", "core::vm", "h", R"({"out_key":2001,"expr_id":"e"})"),
      R"("s")", rankd::testing::faded_plays_plan));
  const auto score_at = [&](std::string_view now) {
    const ranking answer =
        in.rank(plan, R"({"candidates":[{"id":7},{"id":8}],"output_keys":["final_score"],"context":{"now_ms":)" +
                          std::string(now) + "}}");
    return to_json(answer);
  };
  CHECK(
      score_at("1795000010000").find(R"({"id":7,"fields":{"final_score":1.5}},{"id":8,"fields":{"final_score":0}})") !=
      std::string::npos);
  CHECK(score_at("1795000030000").find(R"("final_score":0.375})") != std::string::npos);
}

TEST_CASE("what Redis refuses is lost, counted and logged, and does not hold up others") {
  const redis_server server;
  const counted_project project(at_port(server));
  CHECK(ask(server, {"SET", "stats:7", "no hash"}) == "OK");
  {
    const auto lines = line_file::open(project.path() / "log").value();
    const auto writer =
        counter_writer::start(*project.rules, *project.declared, serve_log(*lines, log_level::info)).value();
    writer->add({step(0, "stats:7", std::int64_t{1}), step(0, "stats:8", std::int64_t{1})});
    CHECK(eventually([&] { return writer->counts().lost == 1 && writer->counts().written == 1; }));
  }
  CHECK(ask(server, {"HGET", "stats:8", "clicks"}) == "1");
  const std::string log = read_text_file(project.path() / "log").value();
  CHECK(log.find("counters_failed") != std::string::npos);
  CHECK(log.find("WRONGTYPE") != std::string::npos);
}

TEST_CASE("too many additions that wait are lost, and those of an embedded store are none of its own") {
  const counted_project nowhere("{ type = \"static\", host = \"127.0.0.1\", port = 1 }");
  const auto writer = counter_writer::start(*nowhere.rules, *nowhere.declared, {}).value();
  writer->add(std::vector<rule_step>(counter_writer::max_waiting + 1, step(0, "k", std::int64_t{1})));
  CHECK(writer->counts().lost >= counter_writer::max_waiting + 1);
  const counted_project embedded(rankd::testing::embedded_place);
  CHECK(counter_writer::start(*embedded.rules, *embedded.declared, {}).value() == nullptr);
}

TEST_CASE("the same events give the same answers from Redis and from an embedded store") {
  const redis_server server;
  const counted_project project(at_port(server));
  const counted_project beside(rankd::testing::embedded_place);
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  const auto now = [] { return std::chrono::milliseconds(1'795'000'000'000); };
  const auto counters =
      embedded_counters::make(*beside.rules, *beside.declared, {.folder = beside.path() / "events", .now = now});
  REQUIRE(counters != nullptr);
  std::mt19937_64 random(24);
  std::vector<rule_step> steps;
  for (int i = 0; i < 400; ++i) {
    const std::size_t counter = random() % 4;
    const auto whole = static_cast<std::int64_t>(random() % 100) - 20;
    const bool is_fraction = counter != 0 && counter != 2 && random() % 2 == 0;
    const std::string item = std::to_string(7 + random() % 2);
    steps.push_back({.rule = counter,
                     .key = (counter == 1   ? "spent:"
                             : counter == 2 ? "orders:"
                                            : "stats:") +
                            item,
                     .by = is_fraction ? scalar(static_cast<double>(whole) / 7) : scalar(whole),
                     .at = now() - std::chrono::milliseconds(random() % 60'000),
                     .received = now()});
  }
  steps.push_back({.rule = 2, .key = "orders:7", .by = std::numeric_limits<std::int64_t>::max(), .received = now()});
  steps.push_back({.rule = 2, .key = "orders:7", .by = std::numeric_limits<std::int64_t>::max(), .received = now()});
  steps.push_back({.rule = 1, .key = "spent:7", .by = 1.7e308, .received = now()});
  counters->add(steps, {.file = 1, .bytes = 1});
  writer->add(steps);
  CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == steps.size(); }));
  CHECK(writer->counts().lost == counters->counts().lost);
  CHECK(writer->counts().written == counters->counts().written);

  REQUIRE(load_store(beside.path() / "db", std::vector{beside.write("data.ndjson", "")}, {}).has_value());
  endpoint_entry endpoint;
  endpoint.endpoint_id = "ep_0001";
  endpoint.resolver = endpoint_entry::embedded_resolver{"db"};
  counted_store over(open_store(endpoint, beside.path()).value(), counters->find_values(0));
  braid::redis_options at;
  at.port = server.port();
  redis_store redis({.endpoint_id = "ep_0001", .server = at});
  run_on_loop([&](braid::loop&) -> braid::task<void> {
    const std::vector<std::int64_t> ids = {7, 8, 9};
    for (const std::string_view prefix : {"stats:", "spent:", "orders:"}) {
      braid::arena memory;
      const key_batch keys{.prefix = prefix, .ids = ids};
      const auto one = co_await ask_store(redis, hash_read{keys}, memory);
      const auto other = co_await ask_store(over, hash_read{keys}, memory);
      for (std::size_t id = 0; id < ids.size(); ++id) CHECK(std::ranges::equal(one.value()[id], other.value()[id]));
    }
  });

  const auto make_answer = [&](const counted_project& of, store& from) {
    rankd::testing::engine_world in(*of.declared, {&from}, 1);
    const bound_plan& plan = in.bind(rankd::testing::artifact_of(
        R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[]}},)" +
            rankd::testing::node("h", "core::hash", "c",
                                 R"({"endpoint":"ep_0001","key":"stats:{id}","keys":[8001,8002]})") +
            "," + rankd::testing::node("s", "core::vm", "h", R"({"out_key":2001,"expr_id":"e"})"),
        R"("s")", rankd::testing::faded_plays_plan));
    return to_json(in.rank(plan, R"({"request_id":"r","candidates":[{"id":7},{"id":8},{"id":9}],)"
                                 R"("output_keys":["final_score"],"context":{"now_ms":1795000020000}})"));
  };
  const std::string answer = make_answer(beside, over);
  CHECK(answer == make_answer(project, redis));
  CHECK(answer.find(R"({"id":9,"fields":{"final_score":0}})") != std::string::npos);
  CHECK(answer.find(R"({"id":7,"fields":{"final_score":0}})") == std::string::npos);
}

TEST_CASE("rules of all kinds leave the same values in Redis and in the memory of an embedded store") {
  namespace rule_place = rankd::testing::rule_place;
  const redis_server server;
  const counted_project project(at_port(server));
  const counted_project beside(rankd::testing::embedded_place);
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  const auto now = [] { return std::chrono::milliseconds(1'795'000'000'000); };
  const auto values =
      embedded_counters::make(*beside.rules, *beside.declared, {.folder = beside.path() / "events", .now = now});
  std::mt19937_64 random(45);
  std::vector<rule_step> steps;
  const auto users = std::vector<std::string>{"1", "2"};
  for (int i = 0; i < 1'500; ++i) {
    const std::size_t rule = rule_place::last_item + random() % 8;
    const char* const names[] = {
        "session:", "session:", "viewed:", "blocked:", "blocked:", "seen:", "rated:", "rated:"};
    // Some keys hold another kind of value.
    const std::size_t name = random() % 100 == 0 ? random() % 8 : rule - rule_place::last_item;
    const auto at = now() - std::chrono::seconds(900 * (random() % 9));
    const bool is_rated = rule == rule_place::rate;
    steps.push_back({.rule = rule,
                     .key = names[name] + users[random() % 2],
                     .text = std::to_string(random() % 9),
                     .score = is_rated ? static_cast<double>(random() % 40) / 7 - 2 : static_cast<double>(at.count()),
                     .at = at,
                     .received = now()});
  }
  // A member of exactly the age stays, and an older one leaves.
  for (const int seconds : {3'600, 3'601, 0}) {
    const auto at = now() - std::chrono::seconds(seconds);
    steps.push_back({.rule = rule_place::seen,
                     .key = "seen:3",
                     .text = std::to_string(seconds),
                     .score = static_cast<double>(at.count()),
                     .at = at,
                     .received = now()});
  }
  values->add(steps, {.file = 1, .bytes = 1});
  writer->add(steps);
  CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == steps.size(); }));
  CHECK(ask(server, {"ZSCORE", "seen:3", "3600"}) == "1794996400000");
  CHECK(ask(server, {"ZCARD", "seen:3"}) == "2");
  CHECK(writer->counts().lost == values->counts().lost);
  CHECK(values->counts().lost > 50);  // sets that are full, and values of other kinds

  REQUIRE(load_store(beside.path() / "db", std::vector{beside.write("data.ndjson", "")}, {}).has_value());
  endpoint_entry endpoint;
  endpoint.endpoint_id = "ep_0001";
  endpoint.resolver = endpoint_entry::embedded_resolver{"db"};
  counted_store over(open_store(endpoint, beside.path()).value(), values->find_values(0));
  braid::redis_options at;
  at.port = server.port();
  redis_store redis({.endpoint_id = "ep_0001", .server = at});
  const std::vector<std::string_view> fields = {"last_item", "last_ms"};
  const std::vector<std::string_view> members = {"0", "3", "8", "x"};
  const std::vector<std::span<const std::string_view>> asked(2, members);
  const auto compare = [&](braid::loop&) -> braid::task<void> {
    for (const auto& [kind, prefix] : {std::pair(read_kind::fields, "session:"), std::pair(read_kind::list, "viewed:"),
                                       std::pair(read_kind::set, "blocked:"), std::pair(read_kind::members, "blocked:"),
                                       std::pair(read_kind::sorted_set, "seen:"), std::pair(read_kind::scores, "seen:"),
                                       std::pair(read_kind::sorted_set, "rated:")}) {
      braid::arena memory;
      const std::vector<std::string> names = {prefix + users[0], prefix + users[1]};
      const std::vector<std::string_view> keys(names.begin(), names.end());
      named_read read{.kind = kind, .keys = keys, .count = 100};
      if (kind == read_kind::fields) read.fields = fields;
      if (kind == read_kind::members || kind == read_kind::scores) read.members = asked;
      const auto one = (co_await ask_store(redis, read, memory)).value();
      const auto other = (co_await ask_store(over, read, memory)).value();
      for (std::size_t key = 0; key < keys.size(); ++key) {
        REQUIRE(one.of_key[key].size() == other.of_key[key].size());
        CHECK_FALSE(one.of_key[key].empty());
        for (std::size_t item = 0; item < one.of_key[key].size(); ++item) {
          const stored_item& in_redis = one.of_key[key][item];
          const stored_item& in_memory = other.of_key[key][item];
          CHECK(in_redis.is_there == in_memory.is_there);
          CHECK(in_redis.id == in_memory.id);
          CHECK(in_redis.score == in_memory.score);
          CHECK(in_redis.text == in_memory.text);
        }
      }
    }
  };
  run_on_loop(compare);
  for (const char* key : {"session:1", "seen:1", "rated:1"}) {
    const int left = std::stoi(ask(server, {"TTL", key}));
    CHECK((left > 500 && left <= 7'200));
  }
  CHECK(ask(server, {"TTL", "viewed:1"}) == "-1");
}
