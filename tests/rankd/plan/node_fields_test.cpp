// tests/rankd/plan/node_fields_test.cpp: params of every kind as text.
#include <rankd/plan/node_fields.hpp>

#include <tests/rankd/plan/shapes.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto loaded_plan() -> plan {
  return parse_plan(R"({
  "schema_version": 1, "plan_name": "demo",
  "expr_table": {"e": {"op": "key_ref", "key_id": 1}},
  "pred_table": {"p": {"op": "const_bool", "value": true}},
  "nodes": [
    {"node_id": "v", "op": "core::viewer", "inputs": [], "params": {"endpoint": "ep_0001"}},
    {"node_id": "m", "op": "core::vm", "inputs": ["v"], "params": {"out_key": 2001, "expr_id": "e"}},
    {"node_id": "p", "op": "core::filter", "inputs": ["m"], "params": {"pred_id": "p"}},
    {"node_id": "a", "op": "test::all", "inputs": ["p"],
     "params": {"order": "desc", "weight": 0.5, "strict": true, "label": "a \"b\"", "select": [1, 3001], "other": "v"}}
  ],
  "outputs": ["a"]
})",
                    "demo.json", {rankd::testing::ops, rankd::testing::declared()})
      .value();
}

auto text_of(std::size_t node) -> std::string {
  const plan loaded = loaded_plan();
  return to_text(list_fields(loaded.nodes[node], loaded, rankd::testing::declared()));
}

}  // namespace

TEST_CASE("endpoints, keys and formulas are printed by name") {
  CHECK(text_of(0) == "endpoint: EP.redis_default");
  CHECK(text_of(1) == "out_key: Key.final_score, expr: Key.id");
  CHECK(text_of(2) == "pred: true");
}

TEST_CASE("values of every kind are printed as a plan has them") {
  CHECK(text_of(3) ==
        R"(order: desc, weight: 0.5, strict: true, label: "a \"b\"", select: [Key.id, Key.country], other: v)");
}

TEST_CASE("a field says of which kind its param is") {
  const plan loaded = loaded_plan();
  const auto fields = list_fields(loaded.nodes[3], loaded, rankd::testing::declared());
  REQUIRE(fields.size() == 6);
  CHECK(fields[0].kind == param_kind::enumeration);
  CHECK(fields[5].kind == param_kind::node_ref);
  CHECK(fields[5] == node_field{"other", "v", param_kind::node_ref});
}
