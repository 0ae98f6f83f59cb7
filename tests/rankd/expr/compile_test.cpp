// tests/rankd/expr/compile_test.cpp: what a program says of itself. What the registries refuse stands in
// tests/rankd/tables/bad_plans.ndjson.
#include <rankd/expr/compile.hpp>
#include <rankd/expr/parse.hpp>
#include <tests/rankd/expr/expr_world.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

auto compile(const char* text) -> braid::checked<pred_program> {
  return compile_pred(parse_pred(json::parse(text), "").value(), world());
}

}  // namespace

TEST_CASE("a blocked key names its successor") {
  const auto refused = compile(R"({"op": "is_null", "x": {"op": "key_ref", "key_id": 5001}})");
  CHECK(refused.error().front().hint == "use key 1001 (score) instead");
}

TEST_CASE("a program knows the keys that it reads, each once and in order") {
  const auto program = compile(R"({"op": "and",
      "a": {"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": "x"}},
      "b": {"op": "and", "a": {"op": "in", "lhs": {"op": "key_ref", "key_id": 3001}, "list": ["US"]},
            "b": {"op": "is_null", "x": {"op": "key_ref", "key_id": 1}}}})");
  REQUIRE(program.has_value());
  CHECK(std::vector(program->reads().begin(), program->reads().end()) == std::vector<std::uint32_t>{1, 3001});
}

TEST_CASE("a string key in arithmetic, and a list of numbers with one on the left, are allowed") {
  CHECK(compile(R"({"op": "in", "lhs": {"op": "key_ref", "key_id": 3001}, "list": [1]})").has_value());
  CHECK(compile(R"({"op": "is_null", "x": {"op": "neg", "x": {"op": "key_ref", "key_id": 4001}}})").has_value());
}

TEST_CASE("a program is expected to cost more for more rows, more steps and patterns that come with a request") {
  const auto small =
      compile_expr(parse_expr(json::parse(R"({"op":"key_ref","key_id":1})"), "").value(), world()).value();
  const auto large = compile_expr(parse_expr(json::parse(R"({"op":"mul","a":{"op":"key_ref","key_id":1},
      "b":{"op":"add","a":{"op":"key_ref","key_id":1},"b":{"op":"const_number","value":2}}})"),
                                             "")
                                      .value(),
                                  world())
                         .value();
  CHECK(small.cost().row_ns > 0);
  CHECK(large.cost().row_ns > small.cost().row_ns);
  CHECK(large.cost().once_ns > small.cost().once_ns);
  const auto of_key = [](const char* op) {
    const json tree = {{"op", op}, {"x", {{"op", "key_ref"}, {"key_id", 1001}}}};
    return compile_expr(parse_expr(tree, "").value(), world()).value().cost().row_ns;
  };
  CHECK(of_key("log1p") > of_key("sqrt") + 1);
  const auto regex = compile(R"({"op":"regex","key_id":3001,"pattern":{"kind":"param","param_id":2}})");
  REQUIRE(regex);
  CHECK(regex->cost().once_ns > 20'000);
}
