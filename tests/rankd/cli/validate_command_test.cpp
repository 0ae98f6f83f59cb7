// tests/rankd/cli/validate_command_test.cpp: what is wrong with plans, and what most likely is, for people and
// programs.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/file.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;

namespace {

using lines = std::vector<std::string>;

auto read_file(const std::filesystem::path& file) -> std::string { return rankd::read_text_file(file).value(); }

}  // namespace

TEST_CASE("validate tells every diagnostic about every plan that it is given") {
  const project_copy project;
  const std::string wrong =
      project.write("wrong.json", R"({"schema_version":1,"plan_name":"wrong","outputs":["v"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0002"}},
    {"node_id":"m","op":"core::vm","inputs":["v"],"params":{"out_key":1,"expr_id":"e"}}],
    "expr_table":{"e":{"op":"const_number","value":1}}})");
  const process_end shape = rankd_in(project.path(), {"validate", wrong, "concat_plan"});
  CHECK(shape.status == 1);
  CHECK(shape.out.starts_with("WRONG " + wrong + " (1 diagnostic)\n"));
  CHECK(has(shape.out, "[reaches_no_output]"));
  CHECK(has(shape.out, "ok    concat_plan (5 nodes)\n"));

  const std::string unbound =
      project.write("unbound.json", R"({"schema_version":1,"plan_name":"unbound","outputs":["m"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0002"}},
    {"node_id":"m","op":"core::vm","inputs":["v"],"params":{"out_key":1,"expr_id":"e"}}],
    "expr_table":{"e":{"op":"key_ref","key_id":4242}}})");
  const process_end bound = rankd_in(project.path(), {"validate", "--json", unbound, "nobody"});
  CHECK(bound.status == 1);
  CHECK(bound.err.empty());
  const json plans = json::parse(bound.out).at("plans");
  CHECK(plans[0].at("valid") == false);
  std::vector<std::string> codes;
  for (const json& each : plans[0].at("diagnostics")) codes.push_back(each.at("code"));
  CHECK((codes == std::vector<std::string>{"unknown_key", "wrong_endpoint_kind", "unwritable_key"}));
  CHECK(plans[0].at("diagnostics")[2].at("node") == "m");
  CHECK(plans[0].at("diagnostics")[2].at("source") == unbound);
  CHECK(plans[1].at("diagnostics")[0].at("code") == "unknown_plan");

  CHECK(rankd_in(project.path(), {"validate"}).status == 0);
  project.write("plans/compiled/extra.json", "{}");
  const process_end unindexed = rankd_in(project.path(), {"validate"});
  CHECK(unindexed.status == 1);
  CHECK(has(unindexed.out, "WRONG index.json"));
}

TEST_CASE("validate warns of a key that no node writes, and with --strict that is a failure") {
  const project_copy project;
  const std::string plan =
      project.write("silent.json", R"({"schema_version":1,"plan_name":"silent","outputs":["f"],"nodes":[
    {"node_id":"s","op":"test::fixed_source","inputs":[]},
    {"node_id":"f","op":"core::filter","inputs":["s"],"params":{"pred_id":"p"}}],
    "pred_table":{"p":{"op":"cmp","cmp":">=","a":{"op":"key_ref","key_id":1001},"b":{"op":"const_number","value":0}}}})");
  const process_end found = rankd_in(project.path(), {"validate", plan});
  CHECK(found.status == 0);
  CHECK(found.out.starts_with("ok    " + plan + " (2 nodes, 1 warning)\n"));
  CHECK(has(found.out, "reads key 1001 (model_score_1), but no earlier node writes this key"));
  CHECK(rankd_in(project.path(), {"validate", "--strict", plan}).status == 1);
  CHECK(rankd_in(project.path(), {"validate", "--strict", "reels_plan_a"}).status == 0);
  const json plans = json::parse(rankd_in(project.path(), {"validate", "--json", plan}).out).at("plans");
  CHECK(plans[0].at("valid") == true);
  CHECK(plans[0].at("warnings")[0].at("code") == "column_missing");
}

TEST_CASE("validate reads counters.toml as serve does, also if it is asked about single plans") {
  const project_copy project;
  CHECK_FALSE(has(rankd_in(project.path(), {"validate"}).out, "counters"));
  const std::string right =
      "[[counter]]\nname = \"clicks\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n";
  project.write("registry/counters.toml", right);
  CHECK(rankd_in(project.path(), {"validate"}).status == 0);
  project.write("registry/counters.toml", right + "windov_s = 60\n");
  for (const std::vector<std::string>& arguments : {lines{"validate"}, lines{"validate", "concat_plan"}}) {
    const process_end wrong = rankd_in(project.path(), arguments);
    CHECK(wrong.status == 1);
    CHECK(has(wrong.out, "ok    concat_plan"));
    CHECK(has(wrong.out, "WRONG counters.toml (1 diagnostic)\n"));
    CHECK(has(wrong.out,
              "registry/counters.toml#/counter/0/windov_s: there is no field `windov_s` here [unknown_field]; "
              "did you mean `window_s`?"));
  }
  const json plans = json::parse(rankd_in(project.path(), {"validate", "--json"}).out).at("plans");
  CHECK(plans.back().at("plan") == "counters.toml");
  CHECK(plans.back().at("diagnostics")[0].at("code") == "unknown_field");
}

TEST_CASE("validate reports every setting of rankd.toml and every experiment that serve would refuse") {
  const project_copy project;
  const std::string settings = read_file(project.path() / "rankd.toml");
  const auto write = [&](const std::string& more) { project.write("rankd.toml", settings + more); };
  write(
      "[budget.plan.concat_plam]\nrows = 1\n[shadow.reels_plan_a]\nplan = \"next\"\n"
      "[audit]\nredact = [\"contex\"]\n");
  project.write("registry/events.toml",
                "[[list]]\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"l:{item_id}\"\n"
                "value = \"item_id\"\nmax_items = nan\n");
  for (const std::vector<std::string>& arguments : {lines{"validate"}, lines{"validate", "reels_plan_a"}}) {
    const process_end wrong = rankd_in(project.path(), arguments);
    CHECK(wrong.status == 1);
    CHECK(has(wrong.out, "WRONG rankd.toml (3 diagnostics)\n"));
    for (const char* place : {"rankd.toml#/budget/plan/concat_plam: no plan is called `concat_plam` [unknown_plan]",
                              "rankd.toml#/shadow/reels_plan_a/plan: no plan is called `next` [unknown_plan]",
                              "rankd.toml#/audit/redact/0: `contex` is neither a param nor a field of the audit",
                              "events.toml#/list/0/max_items: numbers must be finite, got `nan` [non_finite_number]"})
      CHECK(has(wrong.out, place));
  }
  const process_end served = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0"});
  CHECK(served.status == 1);
  CHECK(has(served.err, "`contex` is neither a param"));

  write("");
  project.write("registry/events.toml", "");
  CHECK(rankd_in(project.path(), {"validate"}).status == 0);
  const std::string draft =
      project.write("draft.json", R"({"schema_version":1,"plan_name":"draft","outputs":["s"],"nodes":[
    {"node_id":"s","op":"test::fixed_source","inputs":[]}]})");
  write("[budget.plan.draft]\nrows = 1\n");
  CHECK(rankd_in(project.path(), {"validate"}).status == 1);
  CHECK(rankd_in(project.path(), {"validate", draft}).status == 0);  // the plan exists, but is not built yet
}
