// tests/rankd/engine/plan_comparison_test.cpp: what follows from the nodes of two plans, and both as JSON.
#include <rankd/engine/explain/plan_comparison.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::engine_world;
using rankd::testing::reference_project;

TEST_CASE("two plans differ in nodes, and in what follows from these") {
  engine_world world;
  const auto& one = world.reference_plan("concat_plan");
  const auto& other = world.reference_plan("reels_plan_a");
  const plan_comparison found = compare_plans(one, other);
  CHECK(!found.is_equal());
  const json text = json::parse(comparison_json(found, one, other));
  CHECK(text.at("before") == json{{"plan", "concat_plan"}, {"digest", one.digest}});
  CHECK(text.at("after").at("plan") == "reels_plan_a");
  CHECK(text.at("equal") == false);
  CHECK(text.at("changes").size() == found.changes.size());
  CHECK(text.at("changes")[0].at("kind") == "removed");
  CHECK(text.at("changes")[0].at("was").is_null());
  CHECK(text.at("consequences") ==
        json{{{"what", "columns"}, {"before", {"country", "id"}}, {"after", {"country", "final_score", "id"}}}});
}

TEST_CASE("a plan and itself differ in nothing") {
  engine_world world;
  const auto& plan = world.reference_plan("concat_plan");
  const plan_comparison found = compare_plans(plan, plan);
  CHECK(found.is_equal());
  CHECK(json::parse(comparison_json(found, plan, plan)).at("equal") == true);
}
