// tests/rankd/engine/lifecycle_test.cpp: what is deprecated still works, what is blocked is refused wherever it is
// named.
#include <rankd/engine/plans/bound_plan.hpp>

#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::artifact_of;
using rankd::testing::engine_world;
using rankd::testing::lines;
using rankd::testing::node;
using rankd::testing::source;
using rankd::testing::value_of;

namespace {

auto entry(const std::string& table, int id, const std::string& name, const std::string& type,
           const std::string& more = "") -> std::string {
  return "[[" + table + "]]\n" + table + "_id = " + std::to_string(id) + "\nname = \"" + name + "\"\ntype = \"" + type +
         "\"\nnullable = " + (id == 1 && table == "key" ? "false\nallow_write = false" : "true") + "\n" + more + "\n";
}

const std::string blocked = "status = \"blocked\"\nreplaced_by = 2";
const std::string deprecated = "status = \"deprecated\"\nreplaced_by = 2";

auto declared(const std::string& country_status = "") -> registries {
  return testing::registries_of(
      entry("key", 1, "id", "int") + entry("key", 2, "score", "float") + entry("key", 3, "old", "float", blocked) +
          entry("key", 4, "fading", "float", deprecated) + entry("key", 5, "old_text", "string", blocked) +
          entry("key", 6, "country", "string", country_status),
      entry("param", 1, "old_weight", "float", blocked) + entry("param", 2, "weight", "float") +
          entry("param", 3, "fading_weight", "float", deprecated) + entry("param", 4, "old_pattern", "string", blocked),
      value_of(read_text_file("tests/rankd/tables/registry/endpoints.dev.toml")));
}

auto bound_from(const std::string& artifact, const registries& with) -> braid::checked<bound_plan> {
  const plan loaded = testing::value_of(parse_plan(artifact, "t.json", {all_op_shapes(), with}));
  return bind_plan(loaded, with);
}

/// "code pointer hint" of each diagnostic.
auto list(const braid::diagnostics& problems) -> lines {
  lines out;
  for (const auto& item : problems) out.push_back(item.code + " " + item.pointer + " " + item.hint);
  return out;
}

}  // namespace

TEST_CASE("a plan that names what is blocked is refused, with the successor as a hint") {
  const std::string tables =
      R"("expr_table":{"k":{"op":"key_ref","key_id":3},"p":{"op":"param_ref","param_id":1}},)"
      R"("pred_table":{"r":{"op":"regex","key_id":5,"pattern":{"kind":"param","param_id":4},"flags":""}},)";
  const auto bound =
      bound_from(artifact_of(source("s", 1) + "," + node("m", "core::vm", "s", R"({"out_key":3,"expr_id":"k"})") + "," +
                                 node("n", "core::vm", "m", R"({"out_key":2,"expr_id":"p"})") + "," +
                                 node("f", "core::filter", "n", R"({"pred_id":"r"})") + "," +
                                 node("o", "core::sort", "f", R"({"by":3})"),
                             R"("o")", tables),
                 declared());
  REQUIRE_FALSE(bound);
  const std::string hint = " use key 2 (score) instead";
  CHECK((list(bound.error()) == lines{"blocked_key /expr_table/k/key_id" + hint,
                                      "blocked_param /expr_table/p/param_id use param 2 (weight) instead",
                                      "blocked_key /pred_table/r/key_id" + hint,
                                      "blocked_param /pred_table/r/pattern/param_id use param 2 (weight) instead",
                                      "blocked_key /nodes/1/params/out_key" + hint,
                                      "blocked_key /nodes/4/params/by" + hint}));
}

TEST_CASE("an operator that fills a blocked key by itself is refused too") {
  const std::string plan = artifact_of(node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})"), R"("v")");
  CHECK(bound_from(plan, declared()));
  CHECK(bound_from(plan, declared("status = \"deprecated\"")));
  const auto bound = bound_from(plan, declared(blocked));
  REQUIRE_FALSE(bound);
  CHECK((list(bound.error()) == lines{"blocked_key /nodes/0 use key 2 (score) instead"}));
}

TEST_CASE("a request that names what is blocked is refused") {
  const registries with = declared();
  const auto request =
      parse_request(R"({"user_id":1,"param_overrides":{"old_weight":1},"output_keys":["old","score"]})", with);
  REQUIRE_FALSE(request);
  CHECK((testing::list(request.error()) ==
         lines{"blocked_param /param_overrides/old_weight", "blocked_key /output_keys/0"}));
}

TEST_CASE("what is deprecated works in plans and requests as if it were not") {
  const registries with = declared();
  engine_world world(with, {nullptr, nullptr, nullptr}, 1);
  const bound_plan& plan =
      world.bind(artifact_of(source("s", 2) + "," + node("m", "core::vm", "s", R"({"out_key":4,"expr_id":"p"})") + "," +
                                 node("o", "core::sort", "m", R"({"by":4})"),
                             R"("o")", R"("expr_table":{"p":{"op":"param_ref","param_id":3}},)"));
  const std::string answer =
      to_json(world.rank(plan, R"({"user_id":1,"param_overrides":{"fading_weight":0.5},"output_keys":["fading"]})"));
  CHECK(answer.find(R"("candidates":[{"id":1,"fields":{"fading":0.5}},{"id":2,"fields":{"fading":0.5}}])") !=
        std::string::npos);
}

TEST_CASE("a successor is named only where there is one") {
  const registries with = declared();
  CHECK(with.successor_hint(*with.find_key("old")) == "use key 2 (score) instead");
  CHECK(with.successor_hint(*with.find_key("score")).empty());
  CHECK(with.successor_hint(*with.find_param("fading_weight")) == "use param 2 (weight) instead");
  CHECK(with.successor_hint(*with.find_param("weight")).empty());
}
