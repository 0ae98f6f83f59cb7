// tests/rankd/tables/bad_plans_test.cpp: artifacts that are wrong, and what loading or binding them complains about.
#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/plan_check.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/tables/table.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
namespace fs = std::filesystem;

namespace {

auto good_plan() -> std::string { return table_file("good_plan.json"); }

/// The table is about the form of capabilities: `math`, `more` and `aging` stand for some that an engine has code for.
constexpr std::array<std::string_view, 15> capabilities{
    "cap.rfc.0001.arithmetic.v1",   "cap.rfc.0001.math.v1",    "cap.rfc.0002.fragments.v1",
    "cap.rfc.0003.bound_params.v1", "cap.rfc.0003.more.v1",    "cap.rfc.0004.aging.v1",
    "cap.rfc.0004.fallback.v1",     "cap.rfc.0005.branch.v1",  "cap.rfc.0006.formulas.v1",
    "cap.rfc.0007.timeouts.v1",     "cap.rfc.0008.retries.v1", "cap.rfc.0009.vectors.v1",
    "cap.rfc.0010.capture.v1",      "cap.rfc.0011.cache.v1",   "cap.rfc.0012.hedge.v1"};

auto rules() -> plan_rules { return {.ops = all_op_shapes(), .declared = op_world(), .capabilities = capabilities}; }

auto found_in(const std::string& artifact) -> std::vector<std::string> {
  const auto loaded = parse_plan(artifact, "t.json", rules());
  if (!loaded) return spelled(loaded.error());
  model_folder models("tests/rankd/tables/models", op_world());
  vector_folder vectors("tests/rankd/tables");
  const auto bound = bind_plan(*loaded, op_world(), {}, &models, &vectors);
  // A check without the files of models and vectors reports no more, and nothing about a right plan.
  const std::vector<std::string> said = bound ? std::vector<std::string>() : spelled(bound.error());
  for (const std::string& each : spelled(check_plan(*loaded, op_world()).problems))
    CHECK(std::ranges::find(said, each) != said.end());
  return bound ? std::vector<std::string>() : spelled(bound.error());
}

}  // namespace

TEST_CASE("the plans that the tables change are right, and use every operator that has no test of its own") {
  std::set<std::string> used;
  for (const char* name :
       {"good_plan.json", "good_named_plan.json", "good_feed_plan.json", "good_branches.json", "good_fallbacks.json",
        "good_limits.json", "good_captures.json", "good_caches.json", "good_fragments.json", "good_vectors.json"}) {
    CAPTURE(name);
    const std::string artifact = table_file(name);
    CHECK(joined(found_in(artifact)).empty());
    const auto loaded = parse_plan(artifact, "t.json", rules());
    REQUIRE(loaded);
    for (const plan_node& node : loaded->nodes) used.insert(node.op);
  }
  for (const op_entry& op : all_ops()) {
    const std::string name(op.shape.name.substr(op.shape.name.find("::") + 2));
    CAPTURE(name);
    CHECK((used.contains(std::string(op.shape.name)) || fs::exists("tests/rankd/op/" + name + "_test.cpp")));
  }
}

TEST_CASE("a capability that the project declares is refused where the engine has no code for it") {
  const auto refused = parse_plan(good_plan(), "t.json", {.ops = all_op_shapes(), .declared = op_world()});
  REQUIRE_FALSE(refused);
  CHECK((spelled(refused.error()) == std::vector<std::string>{"unsupported_capability /capabilities_required/0",
                                                              "unsupported_capability /capabilities_required/1"}));
  CHECK(refused.error().front().message ==
        "the capability `cap.rfc.0001.math.v1` is declared, but this engine has no code for it");
}

TEST_CASE("each bad plan of the table gets its diagnostics and no others") {
  check_table("bad_plans.ndjson", good_plan(), 300, found_in);
}

TEST_CASE("each plan with bad keys of a store gets its diagnostics and no others") {
  check_table("bad_named.ndjson", table_file("good_named_plan.json"), 50, found_in);
}

TEST_CASE("each plan with bad nodes about a whole list gets its diagnostics and no others") {
  check_table("bad_feed.ndjson", table_file("good_feed_plan.json"), 80, found_in);
}

TEST_CASE("each plan with bad branches or options that are bound wrongly gets its diagnostics and no others") {
  check_table("bad_branches.ndjson", table_file("good_branches.json"), 50, found_in);
}

TEST_CASE("each plan with bad limits of nodes gets its diagnostics and no others") {
  check_table("bad_limits.ndjson", table_file("good_limits.json"), 24, found_in);
}

TEST_CASE("each plan with bad captures gets its diagnostics and no others") {
  check_table("bad_captures.ndjson", table_file("good_captures.json"), 15, found_in);
}

TEST_CASE("each plan with bad caches gets its diagnostics and no others") {
  check_table("bad_caches.ndjson", table_file("good_caches.json"), 20, found_in);
}

TEST_CASE("each plan with bad fallbacks gets its diagnostics and no others") {
  check_table("bad_fallbacks.ndjson", table_file("good_fallbacks.json"), 50, found_in);
}

TEST_CASE("each plan with bad searches for vectors or products of them gets its diagnostics and no others") {
  check_table("bad_vectors.ndjson", table_file("good_vectors.json"), 40, found_in);
}

TEST_CASE("each plan that says wrong things of fragments gets its diagnostics and no others") {
  check_table("bad_fragments.ndjson", table_file("good_fragments.json"), 50, found_in);
}
