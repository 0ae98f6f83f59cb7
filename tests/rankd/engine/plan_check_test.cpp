// tests/rankd/engine/plan_check_test.cpp: what is said of a plan without the files that it names.
#include <rankd/engine/plan_check.hpp>

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

/// `source_span` and `source_files` let messages end with a place, which those of a check do not.
auto loaded(const std::string& node) -> plan {
  auto out = parse_plan(R"({"schema_version":1,"plan_name":"p","outputs":["n"],"source_files":["p.ts"],"nodes":[
    {"node_id":"s","op":"test::fixed_source","inputs":[]},)" +
                            node + "]}",
                        "", {.ops = all_op_shapes(), .declared = op_world()});
  REQUIRE(out);
  return std::move(*out);
}

constexpr auto span = R"("source_span":{"file":0,"line":3,"column":4,"end_line":3,"end_column":9}})";

}  // namespace

TEST_CASE("a model that is not there is no fault of the plan, and the rest of the node is checked") {
  const plan right = loaded(
      std::string(
          R"({"node_id":"n","op":"core::call_models","inputs":["s"],"params":{"models":["gone"],"out_keys":[1001]},)") +
      span);
  CHECK_FALSE(bind_plan(right, op_world()));
  CHECK(check_plan(right, op_world()).problems.empty());
  const plan wrong = loaded(
      std::string(
          R"({"node_id":"n","op":"core::call_models","inputs":["s"],"params":{"models":["gone"],"out_keys":[4242]},)") +
      span);
  const plan_findings found = check_plan(wrong, op_world());
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems.front().code == "unknown_key");
  CHECK(found.warnings.empty());
}

TEST_CASE("messages have no place at their ends, and those of bind_plan do") {
  const plan wrong = loaded(
      std::string(R"({"node_id":"n","op":"core::sort","inputs":["s"],"params":{"by":4242,"order":"desc"},)") + span);
  const auto bound = bind_plan(wrong, op_world());
  REQUIRE_FALSE(bound);
  const plan_findings found = check_plan(wrong, op_world());
  REQUIRE(found.problems.size() == 1);
  CHECK(bound.error().front().message == found.problems.front().message + " (p.ts:3:4)");
}

TEST_CASE("a key that no node writes is a warning") {
  const plan silent = loaded(
      std::string(R"({"node_id":"n","op":"core::sort","inputs":["s"],"params":{"by":1001,"order":"desc"},)") + span);
  const plan_findings found = check_plan(silent, op_world());
  CHECK(found.problems.empty());
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings.front().code == "column_missing");
}
