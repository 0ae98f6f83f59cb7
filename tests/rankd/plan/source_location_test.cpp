// tests/rankd/plan/source_location_test.cpp: diagnostics and pointers lead back to the author's files.
#include <rankd/plan/load_plan.hpp>
#include <rankd/plan/source_location.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

constexpr std::string_view artifact_text = R"({
  "schema_version": 1,
  "plan_name": "demo",
  "source_files": ["plans/demo.plan.ts#sha256=00", "plans/shared.ts"],
  "source_spans": {
    "e": {"file": 0, "line": 3, "column": 4, "end_line": 3, "end_column": 19},
    "e/b": {"file": 1, "line": 7, "column": 1, "end_line": 7, "end_column": 9},
    "e/b/x": {"file": 1, "line": 7, "column": 3, "end_line": 7, "end_column": 9}
  },
  "expr_table": {"e": {"op": "add", "a": {"op": "key_ref", "key_id": 1},
                       "b": {"op": "neg", "x": {"op": "key_ref", "key_id": 1}}}},
  "nodes": [
    {"node_id": "v", "op": "core::viewer", "inputs": [], "params": {"endpoint": "ep_0001"}},
    {"node_id": "m", "op": "core::vm", "inputs": ["v"], "params": {"out_key": 2001, "expr_id": "e"},
     "source_span": {"file": 0, "line": 12, "column": 5, "end_line": 12, "end_column": 8}}
  ],
  "outputs": ["m"]
})";

}  // namespace

TEST_CASE("a pointer leads to the smallest part around it whose source is known") {
  const auto read = parse_plan(artifact_text, "demo.json", testing::rules());
  REQUIRE_MESSAGE(read, (read ? "" : read.error().to_text()));
  CHECK(source_location(*read, "/nodes/1/params/expr_id") == "plans/demo.plan.ts:12:5");
  CHECK(source_location(*read, "/expr_table/e") == "plans/demo.plan.ts:3:4");
  CHECK(source_location(*read, "/expr_table/e/a/key_id") == "plans/demo.plan.ts:3:4");
  CHECK(source_location(*read, "/expr_table/e/b/op") == "plans/shared.ts:7:1");
  CHECK(source_location(*read, "/expr_table/e/b/x/key_id") == "plans/shared.ts:7:3");
  CHECK(source_location(*read, "/nodes/0/params/endpoint").empty());
  CHECK(source_location(*read, "/nodes/10").empty());
  CHECK(source_location(*read, "/outputs").empty());
}

TEST_CASE("diagnostics about an artifact name the place in the author's file") {
  std::string wrong(artifact_text);
  wrong.replace(wrong.find("\"out_key\": 2001"), 15, "\"out_key\": 0");
  wrong.replace(wrong.find("\"neg\""), 5, "\"nag\"");
  const auto read = parse_plan(wrong, "demo.json", testing::rules());
  REQUIRE_FALSE(read);
  const std::string text = read.error().to_text();
  CAPTURE(text);
  CHECK(text.find("(plans/demo.plan.ts:12:5)") != std::string::npos);
  CHECK(text.find("(plans/shared.ts:7:1)") != std::string::npos);
}
