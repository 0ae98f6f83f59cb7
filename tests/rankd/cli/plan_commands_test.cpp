// tests/rankd/cli/plan_commands_test.cpp: what validate, plans and ops print of plans, right and wrong.
#include <rankd/cli/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/child.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

namespace fs = std::filesystem;

auto rankd_here(words arguments) -> process_end { return rankd_in("/", std::move(arguments)); }

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
  CHECK(has(found.out, "reads key 1001 (model_score_1), which no node before it writes"));
  CHECK(rankd_in(project.path(), {"validate", "--strict", plan}).status == 1);
  CHECK(rankd_in(project.path(), {"validate", "--strict", "reels_plan_a"}).status == 0);
  const json plans = json::parse(rankd_in(project.path(), {"validate", "--json", plan}).out).at("plans");
  CHECK(plans[0].at("valid") == true);
  CHECK(plans[0].at("warnings")[0].at("code") == "column_missing");
}

TEST_CASE("plans and operators are listed for people and for programs, wrong plans with what is wrong with them") {
  const project_copy project;
  const process_end plans = rankd_in(project.path(), {"plans"});
  CHECK(plans.status == 0);
  CHECK(plans.out.starts_with("plan          nodes  digest\n"));
  CHECK(has(plans.out, "\nconcat_plan       5  "));
  const json listed = json::parse(rankd_in(project.path(), {"plans", "--json"}).out).at("plans");
  REQUIRE(listed.size() == 2);
  CHECK(listed[1].at("plan") == "reels_plan_a");
  CHECK(listed[1].at("nodes") == 6);
  CHECK(listed[1].at("digest").get<std::string>().size() == 64);

  project.write("plans/compiled/bent.json", R"({"schema_version":1,"plan_name":"bent","outputs":["v"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0002"}}]})");
  project.write("plans/compiled/broken.json", "{");
  const process_end max_count = rankd_in(project.path(), {"plans"});
  CHECK(max_count.status == 1);
  CHECK(max_count.out == plans.out);
  CHECK(std::count(max_count.err.begin(), max_count.err.end(), '\n') == 4);
  for (const char* code : {"wrong_endpoint_kind", "json_syntax", "not_indexed"}) CHECK(has(max_count.err, code));
  const json both = json::parse(rankd_in(project.path(), {"plans", "--json"}).out);
  CHECK(both.at("plans") == listed);
  CHECK(both.at("error").at("code") == "wrong_endpoint_kind");
  CHECK(both.at("diagnostics").size() == 4);
  const fs::path other = project.path() / "plans/compiled/concat_plan.json";
  project.write(other, read_text_file(other).value() + "\n");
  const process_end changed = rankd_in(project.path(), {"plans"});
  CHECK_FALSE(has(changed.out, "concat_plan"));
  CHECK(std::count(changed.err.begin(), changed.err.end(), '\n') == 5);  // what the index and the plan share, once

  const process_end ops = rankd_here({"ops"});
  CHECK(ops.status == 0);
  CHECK(has(ops.out, "core::sort"));
  CHECK(has(ops.out, "by: key_id, order?: choice"));
  const json catalog = json::parse(rankd_here({"ops", "--json"}).out).at("ops");
  CHECK(catalog.size() == 23);
  CHECK(catalog[1].at("op") == "core::candidates");
  CHECK(catalog[2].at("op") == "core::concat");
  CHECK(catalog[2].at("params")[0].at("required") == true);
  CHECK(rankd_here({"ops", "--toml"}).out == read_text_file("registry/ops.toml").value());
}
