// tests/rankd/expr/compile_test.cpp: what the registries refuse.
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

using complaints = std::vector<std::pair<std::string, std::string>>;

struct bad_tree {
  const char* text;
  complaints expected;
};

template <typename Program>
auto complaints_of(const braid::checked<Program>& program) -> complaints {
  complaints out;
  if (program) return out;
  for (const braid::diagnostic& each : program.error()) out.emplace_back(each.code, each.pointer);
  return out;
}

auto compile(const char* text) -> braid::checked<pred_program> {
  return compile_pred(parse_pred(json::parse(text), "").value(), world());
}

const std::vector<bad_tree> bad_expressions{
    {R"({"op": "key_ref", "key_id": 77})", {{"unknown_key", "/key_id"}}},
    {R"({"op": "key_ref", "key_id": 5001})", {{"blocked_key", "/key_id"}}},
    {R"({"op": "key_ref", "key_id": 5002})", {{"unreadable_key", "/key_id"}}},
    {R"({"op": "param_ref", "param_id": 77})", {{"unknown_param", "/param_id"}}},
    {R"({"op": "param_ref", "param_id": 6})", {{"blocked_param", "/param_id"}}},
    {R"({"op": "param_ref", "param_id": 7})", {{"unreadable_param", "/param_id"}}},
    {R"({"op": "add", "a": {"op": "key_ref", "key_id": 77}, "b": {"op": "neg", "x": {"op": "param_ref", "param_id": 78}}})",
     {{"unknown_key", "/a/key_id"}, {"unknown_param", "/b/x/param_id"}}},
    {R"({"op": "coalesce", "a": {"op": "const_number", "value": 1}, "b": {"op": "key_ref", "key_id": 5002}})",
     {{"unreadable_key", "/b/key_id"}}},
};

const std::vector<bad_tree> bad_predicates{
    {R"({"op": "in", "lhs": {"op": "key_ref", "key_id": 1}, "list": ["US"]})", {{"in_wants_string_key", "/lhs"}}},
    {R"({"op": "in", "lhs": {"op": "param_ref", "param_id": 2}, "list": ["US"]})", {{"in_wants_string_key", "/lhs"}}},
    {R"({"op": "in", "lhs": {"op": "const_null"}, "list": ["US"]})", {{"in_wants_string_key", "/lhs"}}},
    {R"({"op": "in", "lhs": {"op": "key_ref", "key_id": 77}, "list": ["US"]})", {{"unknown_key", "/lhs/key_id"}}},
    {R"({"op": "in", "lhs": {"op": "coalesce", "a": {"op": "key_ref", "key_id": 3001}, "b": {"op": "key_ref", "key_id": 3002}}, "list": ["US"]})",
     {{"in_wants_string_key", "/lhs"}}},
    {R"({"op": "regex", "key_id": 77, "pattern": {"kind": "literal", "value": "x"}})", {{"unknown_key", "/key_id"}}},
    {R"({"op": "regex", "key_id": 1001, "pattern": {"kind": "literal", "value": "x"}})",
     {{"regex_wants_string_key", "/key_id"}}},
    {R"({"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": "("}})",
     {{"bad_regex", "/pattern/value"}}},
    {R"({"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": "(?=x)y"}})",
     {{"bad_regex", "/pattern/value"}}},
    {R"({"op": "regex", "key_id": 3001, "pattern": {"kind": "param", "param_id": 77}})",
     {{"unknown_param", "/pattern/param_id"}}},
    {R"({"op": "regex", "key_id": 3001, "pattern": {"kind": "param", "param_id": 1}})",
     {{"regex_wants_string_param", "/pattern/param_id"}}},
    {R"({"op": "regex", "key_id": 1, "pattern": {"kind": "literal", "value": "["}})",
     {{"regex_wants_string_key", "/key_id"}, {"bad_regex", "/pattern/value"}}},
    {R"({"op": "and", "a": {"op": "is_null", "x": {"op": "key_ref", "key_id": 5001}},
         "b": {"op": "not", "x": {"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": "*"}}}})",
     {{"blocked_key", "/a/x/key_id"}, {"bad_regex", "/b/x/pattern/value"}}},
};

}  // namespace

TEST_CASE("each expression that the registries refuse gives its complaints, from left to right") {
  for (const bad_tree& bad : bad_expressions) {
    CAPTURE(bad.text);
    CHECK(complaints_of(compile_expr(parse_expr(json::parse(bad.text), "").value(), world())) == bad.expected);
  }
}

TEST_CASE("each predicate that the registries refuse gives its complaints, from left to right") {
  for (const bad_tree& bad : bad_predicates) {
    CAPTURE(bad.text);
    CHECK(complaints_of(compile(bad.text)) == bad.expected);
  }
}

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

TEST_CASE("a pattern that would cost seconds is refused") {
  std::string exploding;
  for (int i = 0; i < 40; ++i) exploding += "a{0,1000}";
  for (const std::string& pattern : {std::string(4097, 'a'), exploding}) {
    const json tree{{"op", "regex"}, {"key_id", 3001}, {"pattern", {{"kind", "literal"}, {"value", pattern}}}};
    const auto program = compile_pred(parse_pred(tree, "").value(), world());
    REQUIRE(!program);
    CHECK(program.error().front().code == "bad_regex");
  }
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
  const auto regex = compile(R"({"op":"regex","key_id":3001,"pattern":{"kind":"param","param_id":2}})");
  REQUIRE(regex);
  CHECK(regex->cost().once_ns > 20'000);
}
