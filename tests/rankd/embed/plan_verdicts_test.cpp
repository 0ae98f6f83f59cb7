// tests/rankd/embed/plan_verdicts_test.cpp: plans that can be run, and what is wrong with the others.
#include <rankd/embed/plan_verdicts.hpp>

#include <tests/rankd/cli/project_copy.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::project_copy;

TEST_CASE("right plans are listed with their digests, and wrong ones as problems") {
  const project_copy project;
  const workspace in = workspace::open(project.path()).value();
  const plan_list right = list_plans(in).value();
  CHECK(right.problems.empty());
  const json all = json::parse(to_json(right));
  REQUIRE(all.at("plans").size() == 2);
  CHECK(all["plans"][1]["plan"] == "reels_plan_a");
  CHECK(all["plans"][1]["digest"] == right.right[1].digest);
  CHECK_FALSE(all.contains("error"));

  project.write("plans/compiled/wrong.json", "{}");
  const plan_list wrong = list_plans(in).value();
  CHECK(wrong.right.size() == 2);
  CHECK_FALSE(wrong.problems.empty());
  CHECK(json::parse(to_json(wrong)).contains("error"));
}

TEST_CASE("verdicts are about the plans that are named, or about all and the files of the project") {
  const project_copy project;
  project.write("plans/compiled/wrong.json", "{}");
  const workspace in = workspace::open(project.path()).value();
  const auto named = validate_plans(in, {"reels_plan_a", "nothing"}).value();
  REQUIRE(named.size() == 2);
  CHECK(named[0].bound.has_value());
  CHECK(named[1].bound.error().front().code == "unknown_plan");

  const auto all = validate_plans(in, {}).value();
  REQUIRE(all.size() == 4);
  CHECK(all[2].plan == "wrong");
  CHECK_FALSE(all[2].bound.has_value());
  CHECK(all[3].plan == "index.json");  // which does not name the new plan
  const json shown = json::parse(to_json(all));
  CHECK(shown["plans"][0] == json{{"plan", "concat_plan"}, {"valid", true}});
  CHECK(shown["plans"][2]["valid"] == false);
  CHECK(shown["plans"][2]["diagnostics"].size() >= 1);
}
