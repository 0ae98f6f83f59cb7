// tests/rankd/engine/bound_plan_test.cpp: plans bound to operators, and all diagnostics of the tables and the nodes at
// once.
#include <rankd/engine/plans/bound_plan.hpp>

#include <rankd/op/models.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/trained_world.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto bind_artifact(const std::string& artifact) -> braid::checked<bound_plan> {
  return bind_plan(value_of(parse_plan(artifact, "t.json", {all_op_shapes(), op_world()})), op_world());
}

/// "code pointer node" of each diagnostic.
auto diagnostics(const std::string& artifact) -> lines {
  const auto bound = bind_artifact(artifact);
  lines out;
  if (bound) return out;
  for (const auto& item : bound.error()) out.push_back(item.code + " " + item.pointer + " " + item.node);
  return out;
}

auto vm(const std::string& id, int key, const std::string& expression) -> std::string {
  return node(id, "core::vm", "s", R"({"out_key":)" + std::to_string(key) + R"(,"expr_id":")" + expression + "\"}");
}

}  // namespace

TEST_CASE("a bound plan has the nodes in the order of the artifact, with sources and a graph") {
  const auto bound = bind_artifact(
      artifact_of(node("all", "core::concat", "a", R"({"rhs":"b"})") + "," + source("a", 1) + "," + source("b", 2),
                  R"("all","b")"));
  REQUIRE(bound);
  CHECK(bound->name == "t");
  CHECK(bound->digest.size() == 64);
  REQUIRE(bound->nodes.size() == 3);
  CHECK(bound->nodes[0].node_id == "all");
  CHECK(bound->nodes[0].op_name == "core::concat");
  CHECK((bound->nodes[0].sources == std::vector<node_index>{1, 2}));
  CHECK((bound->nodes[0].change == row_change::concatenation));
  CHECK((bound->nodes[1].change == row_change::dense_source));
  CHECK((bound->outputs == std::vector<node_index>{0, 2}));
  CHECK(bound->whole.shape.size() == 3);
  CHECK((std::vector<node_index>(bound->whole.shape.order().begin(), bound->whole.shape.order().end()) ==
         std::vector<node_index>{1, 2, 0}));
}

TEST_CASE("a node may take the same rows twice") {
  const auto bound =
      bind_artifact(artifact_of(source("a", 1) + "," + node("all", "core::concat", "a", R"({"rhs":"a"})"), R"("all")"));
  REQUIRE(bound);
  CHECK((bound->nodes[1].sources == std::vector<node_index>{0, 0}));
}

TEST_CASE("a sort is fused with the take behind it only where nobody else sees the sorted rows") {
  const std::string nodes = source("s", 1) + "," + node("sorted", "core::sort", "s", R"({"by":1})") + "," +
                            node("first", "core::take", "sorted", R"({"count":1})");
  const auto change_of_take = [](const std::string& artifact) {
    return bind_artifact(artifact).value().nodes[2].change;
  };
  CHECK((change_of_take(artifact_of(nodes, R"("first")")) == row_change::selection));
  CHECK((change_of_take(artifact_of(nodes, R"("first","sorted")")) == row_change::prefix));
  const std::string also = nodes + "," + node("more", "core::take", "sorted", R"({"count":2})");
  CHECK((change_of_take(artifact_of(also, R"("first","more")")) == row_change::prefix));
}

TEST_CASE("the line of a plan has its nodes one behind the other") {
  const auto bound =
      bind_artifact(artifact_of(source("a", 1) + "," + source("b", 2) + "," + source("c", 3), R"("c","a","b")"));
  REQUIRE(bound);
  CHECK(std::ranges::equal(bound->whole.line.order(), bound->whole.shape.order()));
  CHECK(std::ranges::equal(bound->whole.line.predecessor_counts(), std::vector<std::uint32_t>{0, 1, 1}));
}

TEST_CASE("diagnostics of both tables and of every node come together, each where it belongs") {
  const std::string tables =
      R"("expr_table":{"bad":{"op":"add","a":{"op":"key_ref","key_id":4242},"b":{"op":"param_ref","param_id":6}},)"
      R"("good":{"op":"key_ref","key_id":1}},)"
      R"("pred_table":{"bad":{"op":"is_null","x":{"op":"key_ref","key_id":5002}}},)";
  const std::string nodes = source("s", 1) + "," + vm("uses_bad", 4242, "bad") + "," + vm("uses_good", 5003, "good") +
                            "," + node("f", "core::filter", "s", R"({"pred_id":"bad"})") + "," +
                            node("v", "core::viewer", "", R"({"endpoint":"ep_0002"})");
  CHECK((diagnostics(artifact_of(nodes, R"("uses_bad","uses_good","f","v")", tables)) ==
         lines{"unknown_key /expr_table/bad/a/key_id ", "blocked_param /expr_table/bad/b/param_id ",
               "unreadable_key /pred_table/bad/x/key_id ", "unknown_key /nodes/1/params/out_key uses_bad",
               "unwritable_key /nodes/2/params/out_key uses_good", "wrong_endpoint_kind /nodes/4/params/endpoint v"}));
}

TEST_CASE("nodes are looked at even where no tree of a table is right") {
  const std::string tables = R"("expr_table":{"bad":{"op":"key_ref","key_id":5001}},)";
  CHECK((diagnostics(artifact_of(source("s", 1) + "," + vm("m", 1, "bad"), R"("m")", tables)) ==
         lines{"blocked_key /expr_table/bad/key_id ", "unwritable_key /nodes/1/params/out_key m"}));
}

TEST_CASE("the reference plans are bound by the registries of their project") {
  engine_world world(1);
  CHECK(world.reference_plan("reels_plan_a").nodes.size() == 6);
  CHECK(world.reference_plan("concat_plan").nodes.size() == 5);
}

TEST_CASE("a node knows where its author wrote it, and so do diagnostics about it and about parts of trees") {
  engine_world world(1);
  CHECK(world.reference_plan("concat_plan").nodes[1].place == "plans/concat_plan.plan.ts:10:29");

  const std::string tables =
      R"("source_files":["t.plan.ts"],"source_spans":{"bad/a":{"file":0,"line":3,"column":9,"end_line":3,"end_column":14}},)"
      R"("expr_table":{"bad":{"op":"add","a":{"op":"key_ref","key_id":4242},"b":{"op":"const_null"}}},)";
  const auto bound = bind_artifact(artifact_of(source("s", 1) + "," + vm("m", 4243, "bad"), R"("m")", tables));
  REQUIRE_FALSE(bound);
  const std::string text = bound.error().to_text();
  CAPTURE(text);
  CHECK(text.find("there is no key 4242 (t.plan.ts:3:9)") != std::string::npos);
  CHECK(text.find("4243 (") == std::string::npos);
}

TEST_CASE("a plan has the warnings of the models that it calls") {
  const registries declared =
      registries_of(key_text(1, "id", "int") + key_text(2, "price", "float") + key_text(3, "age", "int") +
                        key_text(4, "fresh", "bool") + key_text(5, "brand", "int") + key_text(6, "rating", "float") +
                        key_text(7, "score", "float"),
                    "", "");
  model_folder models("tests/rankd/op/onnx", declared);
  for (const auto& [model, warnings] : {std::pair<std::string, std::size_t>{"forest", 1}, {"filled_forest", 0}}) {
    const auto bound = value_of(bind_plan(
        value_of(parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["s"],"nodes":[)"
                            R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[2,3,4,5,6]}},)"
                            R"({"node_id":"s","op":"core::call_models","inputs":["c"],"params":{"models":[")" +
                                model + R"("],"out_keys":[7]}}]})",
                            "t.json", {all_op_shapes(), declared})),
        declared, {}, &models));
    CHECK(bound.warnings.size() == warnings);
    if (warnings != 0) CHECK(bound.warnings.front().code == "untracked_nulls");
  }
}
