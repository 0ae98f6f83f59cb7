// tests/rankd/engine/branches_test.cpp: nodes that choose among their inputs, and what then does not run.
#include <rankd/engine/plans/branches.hpp>

#include <rankd/engine/engine.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

using ids = std::vector<std::int64_t>;
using names = std::vector<std::string>;

/// `new` holds where a request says so; the others are about the text `surface`, "feed" by default.
const std::string tables =
    R"("capabilities_required":["cap.rfc.0005.branch.v1"],"pred_table":{)"
    R"("new":{"op":"cmp","cmp":"==","a":{"op":"param_ref","param_id":5},"b":{"op":"const_number","value":1}},)"
    R"("reels":{"op":"in","lhs":{"op":"param_ref","param_id":6},"list":["reels"]},)"
    R"("feed":{"op":"in","lhs":{"op":"param_ref","param_id":6},"list":["feed","home"]}},)";

auto choice(const std::string& id, const std::string& inputs, const std::string& preds) -> std::string {
  return R"({"node_id":")" + id + R"(","op":"core::choose","inputs":[)" + inputs + R"(],"params":{"pred_ids":[)" +
         preds + "]}}";
}

auto plan_of(const std::string& nodes, const std::string& outputs = R"("c")") -> std::string {
  return artifact_of(nodes, outputs, tables);
}

auto request_of(const std::string& overrides, const std::string& more = "") -> std::string {
  return R"({"request_id":"r","param_overrides":{)" + overrides + "}" + more + "}";
}

const std::string is_new = R"("new_model":true)";

/// A node that would run for an hour, or the rows 1 to 3.
auto hour_or_rows() -> std::string {
  return plan_of(source("b", 5) + "," + sleep("h", "b", an_hour_ms) + "," + source("a", 3) + "," +
                 choice("c", R"("h","a")", R"("new")"));
}

auto list_states(const ranking& answer) -> names {
  names out;
  for (const node_report& each : answer.explained->nodes)
    out.push_back(each.node_id + " " + std::string(to_string(each.state)) +
                  (each.chosen.empty() ? "" : " " + each.chosen));
  return out;
}

/// What is wrong with a request for a plan.
auto found_in(const bound_plan& plan, const std::string& request) -> lines {
  const registries& declared = reference_project::get().declared;
  const rank_request read = value_of(parse_request(request, declared));
  return rankd::testing::list(check_needs(read, find_route(plan, read.params)->needs, declared));
}

}  // namespace

TEST_CASE("the rows of the chosen input are passed on, and what only the others need does not run") {
  const watchdog guard(60s);
  for (const run_order order : {run_order::side_by_side, run_order::one_by_one}) {
    engine_options options;
    options.order = order;
    engine_world world(2, options);
    const ranking answer = world.rank(world.bind(hour_or_rows()), request_of("", R"(,"explain":true)"));
    CHECK((ids_of(answer) == ids{1, 2, 3}));
    CHECK((list_states(answer) == names{"b bypassed", "h bypassed", "a done", "c done a"}));
    for (const node_report& each : answer.explained->nodes)
      if (each.state == node_state::bypassed)
        CHECK((!each.ready && !each.started && !each.ended && each.rows_out == 0));
  }
}

TEST_CASE("the first condition that holds decides, and the last input is that of none") {
  engine_world world;
  const bound_plan& plan =
      world.bind(plan_of(source("a", 1) + "," + source("b", 2) + "," + source("d", 3) + "," + source("e", 4) + "," +
                         choice("c", R"("a","b","d","e")", R"("new","reels","feed")")));
  const auto rows = [&](const std::string& overrides) { return world.rank(plan, request_of(overrides)).rows.size(); };
  CHECK(rows("") == 3);
  CHECK(rows(is_new) == 1);
  CHECK(rows(R"("surface":"reels")") == 2);
  CHECK(rows(R"("surface":"reels",)" + is_new) == 1);
  CHECK(rows(R"("surface":"home")") == 3);
  CHECK(rows(R"("surface":"Feed")") == 4);
  CHECK(rows(R"("surface":"")") == 4);
  CHECK(rows(R"("surface":null)") == 4);
}

TEST_CASE("a choice among choices runs only what leads to the rows") {
  const watchdog guard(60s);
  engine_world world;
  const bound_plan& plan =
      world.bind(plan_of(source("b", 5) + "," + sleep("h", "b", an_hour_ms) + "," + source("a", 3) + "," +
                         choice("d", R"("h","a")", R"("new")") + "," + choice("c", R"("a","d")", R"("new")")));
  CHECK(world.rank(plan, request_of(is_new)).rows.size() == 3);
  CHECK(world.rank(plan, request_of("")).rows.size() == 3);
}

TEST_CASE("a node that another one needs runs, and is no input of the choice") {
  engine_world world;
  const bound_plan& plan = world.bind(
      plan_of(source("a", 2) + "," + source("b", 4) + "," + choice("c", R"("a","b")", R"("new")"), R"("c","a")"));
  const ranking answer = world.rank(plan, request_of("", R"(,"explain":{"ids":[1]})"));
  CHECK((ids_of(answer) == ids{1, 2, 3, 4, 1, 2}));
  CHECK((list_states(answer) == names{"a done", "b done", "c done b"}));
  CHECK(answer.explained->nodes[2].rows_in == 4);
  CHECK(answer.explained->ids[0].drops.empty());
}

TEST_CASE("a column that one side has is null on the other") {
  engine_world world;
  const std::string value = R"("expr_table":{"e":{"op":"key_ref","key_id":1}},)";
  const bound_plan& plan =
      world.bind(artifact_of(source("a", 2) + "," + node("m", "core::vm", "a", R"({"out_key":2001,"expr_id":"e"})") +
                                 "," + choice("c", R"("m","a")", R"("new")"),
                             R"("c")", value + tables));
  const auto fields = [&](const std::string& overrides) {
    return nlohmann::json::parse(to_json(world.rank(plan, request_of(overrides)))).at("candidates").at(1).at("fields");
  };
  CHECK(fields(is_new) == nlohmann::json{{"final_score", 2}});
  CHECK(fields("").empty());
}

TEST_CASE("a failing node that is not chosen is no failure, and budgets count chosen nodes only") {
  engine_world world;
  const std::string nodes = source("b", 5) + "," + sleep("x", "b", 0, sleep_end::failing) + "," + source("a", 3) + "," +
                            choice("c", R"("x","a")", R"("new")");
  const bound_plan& plan = world.bind(plan_of(nodes), of_rows(3));
  CHECK(error_of(world.rank(plan, request_of(""))) == "fine");
  CHECK(error_of(world.rank(plan, request_of(is_new))) == "row_budget_exceeded b");
  CHECK(error_of(world.rank(world.bind(plan_of(nodes)), request_of(is_new))) == "test_failure x");
}

TEST_CASE("a deadline does not blame a node that does not run") {
  const watchdog guard(60s);
  engine_world world;
  const bound_plan& plan =
      world.bind(plan_of(source("b", 5) + "," + sleep("x", "b", 0) + "," + source("a", 3) + "," +
                         sleep("h", "a", an_hour_ms) + "," + choice("c", R"("x","h")", R"("new")")));
  CHECK(error_of(world.rank(plan, request_of("", R"(,"deadline_ms":1)"))) == "deadline_exceeded h");
}

TEST_CASE("only nodes that run demand something of a request") {
  engine_world world;
  const std::string viewer = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})");
  const std::string candidates = node("k", "core::candidates", "", R"({"keys":[2001]})");
  const bound_plan& plan = world.bind(plan_of(viewer + "," + candidates + "," + choice("c", R"("v","k")", R"("new")")));
  CHECK((found_in(plan, request_of(is_new)) == lines{"missing_field "}));
  CHECK(found_in(plan, request_of(is_new, R"(,"user_id":1)")).empty());
  CHECK((found_in(plan, request_of("", R"(,"user_id":1)")) == lines{"missing_field "}));
  const std::string rows = R"(,"candidates":[{"id":1,"final_score":2}])";
  CHECK(found_in(plan, request_of("", rows)).empty());
  CHECK((found_in(plan, request_of("", R"(,"candidates":[{"id":1}])")) == lines{"missing_field /candidates/0"}));
  // What no node reads this time is no mistake, unless none of the plan takes it.
  CHECK(found_in(plan, request_of(is_new, R"(,"user_id":1,"candidates":[{"id":1}])")).empty());
  CHECK((found_in(plan, request_of(is_new, R"(,"user_id":1,"candidates":[{"id":1,"country":"US"}])")) ==
         lines{"unknown_column /candidates/0/country"}));
}

TEST_CASE("a bounded number of routes is kept, and further ones are right as well") {
  constexpr std::size_t bits = 9;
  std::string preds;
  std::string nodes;
  std::string outputs;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    std::string list;
    for (std::size_t value = 0; value < 512; ++value)
      if ((value >> bit & 1U) != 0) list += (list.empty() ? "" : ",") + std::to_string(value);
    const std::string name = std::to_string(bit);
    preds += (bit == 0 ? "" : ",") + ("\"b" + name) + R"(":{"op":"in","lhs":{"op":"param_ref","param_id":4},"list":[)" +
             list + "]}";
    nodes += (bit == 0 ? "" : ",") + source("t" + name, 1 << bit) + "," + source("f" + name, 0) + "," +
             choice("c" + name, "\"t" + name + "\",\"f" + name + "\"", "\"b" + name + "\"");
    outputs += (bit == 0 ? "\"c" : ",\"c") + name + "\"";
  }
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(
      nodes, outputs, R"("capabilities_required":["cap.rfc.0005.branch.v1"],"pred_table":{)" + preds + "},"));
  for (std::size_t value = 0; value < 300; ++value) {
    const ranking answer = world.rank(plan, request_of("\"page_size\":" + std::to_string(value)));
    CHECK(answer.rows.size() == value);
    CHECK(plan.branches->kept() == std::min(value + 1, plan_branches::max_kept));
  }
  CHECK(world.rank(plan, request_of(R"("page_size":299)")).rows.size() == 299);
}

TEST_CASE("a plan without choices has one route, which costs nothing to find") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(source("a", 3), R"("a")"));
  CHECK(plan.branches == nullptr);
  CHECK(find_route(plan, {}).get() == &plan.whole);
  CHECK(plan.whole.bypassed.empty());
}
