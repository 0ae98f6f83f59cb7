// tests/rankd/engine/plan_experiments_test.cpp: the arms of requests, and the values that params have there.
#include <rankd/engine/plans/plan_experiments.hpp>

#include <rankd/engine/engine.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

auto project_params() -> const registries& { return reference_project::get().declared; }

/// Fifty rows, of which `page_size` are taken, 20 by default and 40 at most.
auto page_artifact() -> std::string {
  return artifact_of(
      source("a", 50) + "," + node("k", "core::take", "a", R"({"count":{"param_id":4,"min":1,"max":40}})"), R"("k")",
      R"("capabilities_required":["cap.rfc.0003.bound_params.v1"],)");
}

const std::string two_layers =
    "[[layer]]\nname = \"feed\"\nsalt = \"2026-11\"\nbuckets = 10\n"
    "[[layer]]\nname = \"surfaces\"\nsalt = \"other\"\nunit = \"surface\"\nbuckets = 4\n";

auto experiment_text(const std::string& name, const std::string& rest) -> std::string {
  static int number = 0;
  const std::string digits = std::to_string(10'000 + number++).substr(1);
  return "[[experiment]]\nid = \"exp_" + digits + "\"\nname = \"" + name +
         "\"\nstatus = \"active\"\nplans = [\"t\"]\n" + rest + "\n";
}

/// Buckets 0 to 4 are `short`, 5 to 7 `long`, and 8 and 9 belong to no arm.
auto sizes() -> std::string {
  return two_layers +
         experiment_text("sizes",
                         "layer = \"feed\"\narms = [{ name = \"short\", from = 0, to = 4, set = { page_size = 5 } }, "
                         "{ name = \"long\", from = 5, to = 7, set = { page_size = 30 } }]");
}

auto experiments(const std::string& text) -> experiment_set {
  const braid::testing::scratch_folder folder;
  folder.write("experiments.toml", text);
  return value_of(experiment_set::load(folder.path(), project_params()));
}

auto bound_with(const std::string& text, const std::string& artifact = page_artifact()) -> bound_plan {
  bound_plan plan = value_of(
      bind_plan(value_of(parse_plan(artifact, "t.json", {all_op_shapes(), project_params()})), project_params()));
  braid::diagnostics problems;
  add_experiments(plan, find_experiments(experiments(text), "t", project_params(), std::chrono::sys_seconds()),
                  project_params(), problems);
  CHECK_MESSAGE(problems.empty(), problems.to_text());
  return plan;
}

/// A user whose bucket of the layer `feed` is this one.
auto user_in(std::uint32_t bucket) -> std::int64_t {
  for (std::int64_t id = 1;; ++id)
    if (hash_to_bucket("2026-11", std::to_string(id), 10) == bucket) return id;
}

auto request_by(std::int64_t user, const std::string& more = "") -> std::string {
  return R"({"user_id":)" + std::to_string(user) + R"(,"request_id":"r")" + more + "}";
}

auto make_answer(const bound_plan& plan, const std::string& request) -> json {
  engine_world world;
  rank_request read = value_of(parse_request(request, project_params()));
  const braid::diagnostics problems = fit_to_plan(read, plan, project_params());
  REQUIRE_MESSAGE(problems.empty(), problems.to_text());
  return json::parse(to_json(world.on().run(world.ranker().rank(plan, std::move(read)))));
}

auto rows_of(const json& answer) -> std::size_t { return answer.at("candidates").size(); }

auto wrong_with(const bound_plan& plan, const std::string& request) -> lines {
  rank_request read = value_of(parse_request(request, project_params()));
  return rankd::testing::list(fit_to_plan(read, plan, project_params()));
}

}  // namespace

TEST_CASE("the bucket of the user decides the arm, and the arm gives params their values") {
  const bound_plan plan = bound_with(sizes());
  const json in_short = make_answer(plan, request_by(user_in(4)));
  CHECK(rows_of(in_short) == 5);
  CHECK(in_short.at("experiments") == json::parse(R"({"sizes":"short"})"));
  CHECK(!in_short.contains("experiments_overridden"));
  const json in_long = make_answer(plan, request_by(user_in(5)));
  CHECK(rows_of(in_long) == 30);
  CHECK(in_long.at("experiments") == json::parse(R"({"sizes":"long"})"));
  const json outside = make_answer(plan, request_by(user_in(8)));
  CHECK(rows_of(outside) == 20);
  CHECK(outside.at("experiments") == json::object());
}

TEST_CASE("an id as text is the same unit, and a request without a user is in no arm") {
  const bound_plan plan = bound_with(sizes());
  const std::string user = std::to_string(user_in(5));
  CHECK(rows_of(make_answer(plan, R"({"user_id":"000)" + user + R"("})")) == 30);
  const json absent = make_answer(plan, "{}");
  CHECK(rows_of(absent) == 20);
  CHECK(absent.at("experiments") == json::object());
}

TEST_CASE("what a request overrides goes before the arm, and marks it") {
  const json answer = make_answer(bound_with(sizes()), request_by(user_in(5), R"(,"param_overrides":{"page_size":7})"));
  CHECK(rows_of(answer) == 7);
  CHECK(answer.at("experiments") == json::parse(R"({"sizes":"long"})"));
  CHECK(answer.at("experiments_overridden") == json::parse(R"(["sizes"])"));
  const json other =
      make_answer(bound_with(sizes()), request_by(user_in(5), R"(,"param_overrides":{"new_model":true})"));
  CHECK(!other.contains("experiments_overridden"));
}

TEST_CASE("a plan without experiments answers as ever") {
  const bound_plan plan = bound_with(two_layers);
  CHECK(plan.experiments == nullptr);
  CHECK(!make_answer(plan, request_by(1)).contains("experiments"));
  CHECK(find_experiments(experiments(sizes()), "u", project_params(), std::chrono::sys_seconds()) == nullptr);
}

TEST_CASE("a request names an arm in place of that of its bucket") {
  const bound_plan plan = bound_with(sizes());
  for (const std::uint32_t bucket : {0U, 5U, 9U}) {
    const json answer = make_answer(plan, request_by(user_in(bucket), R"(,"experiments":{"sizes":"long"})"));
    CHECK(rows_of(answer) == 30);
    CHECK(answer.at("experiments") == json::parse(R"({"sizes":"long"})"));
  }
  CHECK(rows_of(make_answer(plan, R"({"experiments":{"sizes":"short"}})")) == 5);
}

TEST_CASE("arms that are not there are refused with their place") {
  const bound_plan plan =
      bound_with(sizes() + experiment_text("rest", "layer = \"feed\"\narms = [{ name = \"all\", from = 8, to = 9 }]"));
  CHECK(wrong_with(plan, R"({"experiments":{"size":"long"}})") == lines{"unknown_experiment /experiments/size"});
  CHECK(wrong_with(plan, R"({"experiments":{"sizes":"lon"}})") == lines{"unknown_arm /experiments/sizes"});
  CHECK(wrong_with(plan, R"({"experiments":{"rest":"all","sizes":"long"}})") ==
        lines{"layer_conflict /experiments/sizes"});
  CHECK(wrong_with(bound_with(two_layers), R"({"experiments":{"sizes":"long"}})") ==
        lines{"unknown_experiment /experiments/sizes"});
}

TEST_CASE("a filter sees the request as it came") {
  const std::string filtered =
      two_layers + experiment_text("sizes",
                                   "layer = \"feed\"\nfilter = { param = \"surface\", in = [\"reels\", \"home\"] }\n"
                                   "arms = [{ name = \"all\", from = 0, to = 9, set = { page_size = 5 } }]");
  const bound_plan plan = bound_with(filtered);
  CHECK(rows_of(make_answer(plan, request_by(1))) == 20);
  CHECK(rows_of(make_answer(plan, request_by(1, R"(,"param_overrides":{"surface":"home"})"))) == 5);
  CHECK(rows_of(make_answer(plan, request_by(1, R"(,"param_overrides":{"surface":null})"))) == 20);
  CHECK(rows_of(make_answer(plan, request_by(1, R"(,"experiments":{"sizes":"all"})"))) == 5);
}

TEST_CASE("a param can be the unit, and layers are chosen by themselves") {
  const std::string text =
      sizes() + experiment_text("models",
                                "layer = \"surfaces\"\narms = [{ name = \"new\", from = 0, to = 3, set = { new_model = "
                                "true } }]");
  const bound_plan plan = bound_with(text);
  const json both = make_answer(plan, request_by(user_in(5)));
  CHECK(both.at("experiments") == json::parse(R"({"models":"new","sizes":"long"})"));
  CHECK(rows_of(both) == 30);
  const json one = make_answer(plan, request_by(user_in(5), R"(,"param_overrides":{"surface":null})"));
  CHECK(one.at("experiments") == json::parse(R"({"sizes":"long"})"));
}

TEST_CASE("an explanation says which arm, and that it gave the value") {
  const bound_plan plan = bound_with(sizes());
  const json by_bucket = make_answer(plan, request_by(user_in(5), R"(,"explain":true)")).at("explain");
  CHECK(by_bucket.at("experiments") ==
        json::parse(R"([{"experiment":"sizes","arm":"long","layer":"feed","from":"bucket","bucket":5}])"));
  CHECK(by_bucket.at("nodes")[1].at("options")[0].at("from") == "experiment");
  CHECK(by_bucket.at("nodes")[1].at("options")[0].at("value") == 30);
  const json named =
      make_answer(plan,
                  request_by(1, R"(,"explain":true,"experiments":{"sizes":"long"},"param_overrides":{"page_size":9})"))
          .at("explain");
  CHECK(named.at("experiments") ==
        json::parse(R"([{"experiment":"sizes","arm":"long","layer":"feed","from":"request","overridden":true}])"));
  CHECK(named.at("nodes")[1].at("options")[0].at("from") == "override");
  const json outside = make_answer(plan, request_by(user_in(8), R"(,"explain":true)")).at("explain");
  CHECK(!outside.contains("experiments"));
  CHECK(outside.at("nodes")[1].at("options")[0].at("from") == "default");
}

TEST_CASE("values that the plan does not take are refused, and those that it does not read are pointed out") {
  bound_plan plan = bound_with(two_layers);
  const std::string text =
      two_layers + experiment_text("sizes",
                                   "layer = \"feed\"\narms = [{ name = \"control\", from = 0, to = 4 }, { name = "
                                   "\"long\", from = 5, to = 7, set = { page_size = 41, new_model = true } }]");
  braid::diagnostics problems;
  const auto running = find_experiments(experiments(text), "t", project_params(), std::chrono::sys_seconds());
  add_experiments(plan, running, project_params(), problems);
  CHECK(rankd::testing::list(problems) == lines{"param_out_of_range /experiment/0/arms/1/set/page_size"});
  CHECK(problems.front().source == "experiments.toml");
  CHECK(rankd::testing::list(unread_settings(plan, project_params())) ==
        lines{"unread_param /experiment/0/arms/1/set/new_model"});
}

TEST_CASE("experiments run by their dates, and drafts are there for a check") {
  const std::string dated =
      two_layers +
      experiment_text("sizes",
                      "layer = \"feed\"\nstart = \"2026-11-24T00:00:00Z\"\nend = \"2026-12-24T00:00:00Z\"\n"
                      "arms = [{ name = \"all\", from = 0, to = 9 }]");
  const experiment_set all = experiments(dated);
  const std::chrono::sys_seconds start = std::chrono::sys_days(std::chrono::year(2026) / 11 / 24);
  CHECK(find_experiments(all, "t", project_params(), start - std::chrono::seconds(1)) == nullptr);
  CHECK(find_experiments(all, "t", project_params(), start) != nullptr);
  CHECK(find_experiments(all, "t", project_params(), std::nullopt) != nullptr);
}
