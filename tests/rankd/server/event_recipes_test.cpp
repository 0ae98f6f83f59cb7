// tests/rankd/server/event_recipes_test.cpp: the rules of docs/events.md, and plans that read what they write, from
// Redis and over an embedded store.
#include <rankd/registry/file.hpp>
#include <rankd/server/events/counter_writer.hpp>
#include <rankd/server/events/embedded_counters.hpp>
#include <rankd/store/counted_store.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_store.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/server/counted_project.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::redis_server;
using rankd::testing::counted_project;
using rankd::testing::node;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds start{1'795'000'000'000};
constexpr std::int64_t minute = 60'000;

/// Registries with the rules of the recipes, and the keys that their plans need.
struct recipe_project : counted_project {
  explicit recipe_project(const std::string& resolver) : counted_project(resolver) {
    std::string keys;
    for (const auto& [id, name, type] : {std::tuple("8003", "views", "float"), std::tuple("8004", "views_at", "int"),
                                         std::tuple("8005", "active_at", "float"), std::tuple("8006", "seen", "bool"),
                                         std::tuple("8007", "hidden", "bool"), std::tuple("8008", "heat", "float")})
      keys += std::string("[[key]]\nkey_id = ") + id + "\nname = \"" + name + "\"\ntype = \"" + type +
              "\"\nnullable = true\n";
    write("keys.toml", read_text_file(path() / "keys.toml").value() + keys);
    write("params.toml", read_text_file(path() / "params.toml").value() +
                             "[[param]]\nparam_id = 8002\nname = \"user\"\ntype = \"int\"\nnullable = true\n"
                             "source = \"context\"\n");
    write("events.toml", read_text_file("tests/rankd/server/event_recipes/recipes.toml").value());
    declared = std::make_unique<registries>(registries::load(path(), "dev").value());
    rules = std::make_unique<event_rules>(event_rules::load(path(), *declared).value());
  }

  /// The steps of an event of user 1 about an item, so many minutes after the start.
  void event(std::string_view type, std::int64_t item, std::int64_t minutes, std::vector<rule_step>& out) const {
    const std::string text = R"({"events":[{"event_id":"e","type":")" + std::string(type) +
                             R"(","user_id":1,"item_id":)" + std::to_string(item) + "}]}";
    const milliseconds at = start + milliseconds(minutes * minute);
    const auto read = parse_events(text, *rules, *declared, 1, at).value();
    std::ranges::move(list_steps(read.front(), *rules, at), std::back_inserter(out));
  }

  [[nodiscard]] auto steps() const -> std::vector<rule_step> {
    std::vector<rule_step> out;
    event("view", 10, 0, out);
    event("view", 11, 70, out);
    event("view", 12, 80, out);
    event("view", 11, 90, out);
    event("view", 13, 100, out);
    event("hide", 13, 101, out);
    event("hide", 12, 102, out);
    event("unhide", 12, 103, out);
    return out;
  }
};

const std::string endpoint = R"("endpoint":"ep_0001",)";

auto candidates() -> std::string { return node("c", "core::candidates", "", R"({"keys":[]})"); }

/// Each recipe as a plan: whether rows were seen, the list, whether they are hidden, and what is trending.
auto recipe_plans() -> std::vector<std::pair<std::string, std::string>> {
  const std::string none = R"({"op":"cmp","cmp":"==","a":{"op":"key_ref","key_id":)";
  const auto absent = [&](const char* key) {
    return R"("pred_table":{"p":)" + none + key + R"(},"b":{"op":"const_number","value":0}}},)";
  };
  const auto member = [&](const std::string& key, const std::string& more) {
    return candidates() + "," +
           node("m", "core::members_of", "c", "{" + endpoint + R"("key":")" + key + "\"," + more + "}") + "," +
           node("f", "core::filter", "m", R"({"pred_id":"p"})");
  };
  // heat = views * 2 ^ ((views_at - now_ms) / half-life), for what was active in the last hour
  const std::string hour_ago =
      R"({"op":"sub","a":{"op":"param_ref","param_id":8001},"b":{"op":"const_number","value":3600000}})";
  const std::string tables =
      R"("capabilities_required":["cap.rfc.0001.arithmetic.v1"],"pred_table":{"p":{"op":"cmp","cmp":">=",)"
      R"("a":{"op":"key_ref","key_id":8005},"b":)" +
      hour_ago +
      R"(}},"expr_table":{"e":{"op":"mul",)"
      R"("a":{"op":"key_ref","key_id":8003},"b":{"op":"pow","a":{"op":"const_number","value":2},)"
      R"("b":{"op":"div","a":{"op":"sub","a":{"op":"key_ref","key_id":8004},"b":{"op":"param_ref","param_id":8001}},)"
      R"("b":{"op":"const_number","value":1200000}}}}},)";
  const std::string trending =
      node("a", "core::sorted_set", "", "{" + endpoint + R"("key":"active","count":1000,"out_key":8005})") + "," +
      node("f", "core::filter", "a", R"({"pred_id":"p"})") + "," +
      node("h", "core::hash", "f", "{" + endpoint + R"("key":"stats:{id}","keys":[8003,8004]})") + "," +
      node("v", "core::vm", "h", R"({"out_key":8008,"expr_id":"e"})") + "," +
      node("s", "core::sort", "v", R"({"by":8008,"order":"desc"})");
  return {
      {rankd::testing::artifact_of(member("seen:{P.user}", R"("of":"sorted_set","out_key":8006)"), R"("f")",
                                   absent("8006")),
       "[14]"},
      {rankd::testing::artifact_of(
           node("l", "core::list", "", "{" + endpoint + R"("key":"viewed:{P.user}","count":50})") + "," +
               node("d", "core::dedupe", "l"),
           R"("d")"),
       "[13,11,12,10]"},
      {rankd::testing::artifact_of(member("hidden:{P.user}", R"("out_key":8007)"), R"("f")", absent("8007")),
       "[10,11,12,14]"},
      {rankd::testing::artifact_of(trending, R"("s")", tables), "[11,13,12]"},
  };
}

/// The ids of the answer to each plan.
auto answers(const recipe_project& project, store& from) -> std::vector<std::string> {
  rankd::testing::engine_world in(*project.declared, {&from}, 1);
  std::vector<std::string> out;
  for (const auto& [artifact, expected] : recipe_plans()) {
    const ranking answer =
        in.rank(in.bind(artifact), R"({"candidates":[{"id":10},{"id":11},{"id":12},{"id":13},{"id":14}],)"
                                   R"("context":{"user":1,"now_ms":)" +
                                       std::to_string(start.count() + 110 * minute) + "}}");
    std::string ids;
    for (const auto& each : nlohmann::json::parse(to_json(answer)).at("candidates"))
      ids += (ids.empty() ? "" : ",") + each.at("id").dump();
    out.push_back("[" + ids + "]");
  }
  return out;
}

auto expected_answers() -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& [artifact, expected] : recipe_plans()) out.push_back(expected);
  return out;
}

}  // namespace

TEST_CASE("the recipes answer from the memory of a server over an embedded store") {
  const recipe_project project(rankd::testing::embedded_place);
  const auto now = [] { return start + milliseconds(110 * minute); };
  const auto values =
      embedded_counters::make(*project.rules, *project.declared, {.folder = project.path() / "events", .now = now});
  values->add(project.steps(), {.file = 1, .bytes = 1});
  CHECK(values->counts().lost == 0);
  REQUIRE(load_store(project.path() / "db", std::vector{project.write("data.ndjson", "")}, {}).has_value());
  endpoint_entry place;
  place.endpoint_id = "ep_0001";
  place.resolver = endpoint_entry::embedded_resolver{"db"};
  counted_store over(open_store(place, project.path()).value(), values->find_values(0));
  CHECK(answers(project, over) == expected_answers());
  braid::arena memory;
  CHECK(values->find_values(0)->field("session:1", "last_item", memory) == "13");
}

TEST_CASE("the recipes answer from Redis") {
  const redis_server server;
  const recipe_project project("{ type = \"static\", host = \"127.0.0.1\", port = " + std::to_string(server.port()) +
                               " }");
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  auto steps = project.steps();
  const std::size_t count = steps.size();
  writer->add(std::move(steps));
  CHECK(eventually([&] { return writer->counts().written == count; }));
  braid::redis_options at;
  at.port = server.port();
  redis_store from({.endpoint_id = "ep_0001", .server = at});
  CHECK(answers(project, from) == expected_answers());
}
