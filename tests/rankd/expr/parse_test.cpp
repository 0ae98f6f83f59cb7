// tests/rankd/expr/parse_test.cpp: what is a tree, and its bounds. The table of wrong trees is that of wrong plans,
// tests/rankd/tables/bad_plans.ndjson.
#include <rankd/expr/parse.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

using diagnostics = std::vector<std::pair<std::string, std::string>>;

auto diagnostics_of(const braid::diagnostics& problems) -> diagnostics {
  diagnostics out;
  for (const braid::diagnostic& each : problems) out.emplace_back(each.code, each.pointer);
  return out;
}

template <typename Tree>
auto diagnostics_of(const braid::checked<Tree>& tree) -> diagnostics {
  return tree ? diagnostics() : diagnostics_of(tree.error());
}

/// A chain of `op` with `levels` nodes in all, `leaf` at its end.
auto chain(const char* op, std::size_t levels, json leaf) -> json {
  json out = std::move(leaf);
  for (std::size_t i = 1; i < levels; ++i) {
    json outer = {{"op", op}};
    outer["x"] = std::move(out);
    out = std::move(outer);
  }
  return out;
}

auto number_of(const char* text) -> number {
  const auto tree = parse_expr({{"op", "const_number"}, {"value", json::parse(text)}}, "");
  REQUIRE(tree.has_value());
  return std::get<number>(tree->root().payload);
}

}  // namespace

TEST_CASE("pointers begin where the tree stands in the document") {
  const auto tree = parse_expr(json::parse(R"({"op": "neg", "x": {"op": "nix"}})"), "/expr_table/e1");
  CHECK(diagnostics_of(tree) == diagnostics{{"unknown_op", "/expr_table/e1/x/op"}});
}

TEST_CASE("a misspelt op is told which one was meant, a misplaced one where it belongs") {
  const auto misspelt = parse_expr(json::parse(R"({"op": "coalesc"})"), "");
  CHECK(misspelt.error().front().hint == "did you mean `coalesce`?");
  const auto misplaced = parse_pred(json::parse(R"({"op": "add"})"), "");
  CHECK(misplaced.error().front().hint == "`add` is an op of expressions");
}

TEST_CASE("integers stay integers, and what has a point is a double") {
  CHECK(number_of("5") == number(std::int64_t{5}));
  CHECK(number_of("5.0") == number(5.0));
  CHECK(number_of("9007199254740993") == number(std::int64_t{9007199254740993}));
  CHECK(number_of("9223372036854775807") == number(std::numeric_limits<std::int64_t>::max()));
  CHECK(number_of("-9223372036854775808") == number(std::numeric_limits<std::int64_t>::min()));
  CHECK(number_of("9223372036854775808.0") == number(0x1p63));
}

TEST_CASE("a number that is not finite is refused") {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(diagnostics_of(parse_expr({{"op", "const_number"}, {"value", bad}}, "")) ==
          diagnostics{{"non_finite_number", "/value"}});
  }
}

TEST_CASE("two hundred levels are fine, one more is not") {
  CHECK(parse_expr(chain("neg", 200, {{"op", "const_null"}}), "").has_value());
  const auto deep = parse_expr(chain("neg", 201, {{"op", "const_null"}}), "");
  REQUIRE_FALSE(deep.has_value());
  CHECK(deep.error().size() == 1);
  CHECK(deep.error().front().code == "expr_too_deep");
  CHECK(deep.error().front().pointer.size() == 200 * 2);
}

TEST_CASE("predicates and the expressions below them count together") {
  const json compared = {{"op", "is_null"}, {"x", chain("neg", 100, {{"op", "const_null"}})}};
  CHECK(parse_pred(chain("not", 100, compared), "").has_value());
  CHECK(diagnostics_of(parse_pred(chain("not", 101, compared), "")).front().first == "expr_too_deep");
}

TEST_CASE("a tree of three hundred thousand levels is refused and does not end the program") {
  CHECK(diagnostics_of(parse_expr(chain("neg", 300'000, {{"op", "const_null"}}), "")).size() == 1);
}

TEST_CASE("depth is complained about once, however many branches are too deep") {
  const json deep = chain("neg", 300, {{"op", "const_null"}});
  const auto tree = parse_expr({{"op", "add"}, {"a", deep}, {"b", deep}}, "");
  CHECK(diagnostics_of(tree).size() == 1);
}

TEST_CASE("a tree of nothing but mistakes ends with as many diagnostics as a person can use") {
  json list = json::array();
  for (int i = 0; i < 100'000; ++i) list.push_back(nullptr);
  const json many = {{"op", "in"}, {"lhs", {{"op", "const_null"}}}, {"list", std::move(list)}};
  CHECK(diagnostics_of(parse_pred(many, "")).size() == 1000);
}

TEST_CASE("flags may be absent, and lists may be empty") {
  const auto regex =
      parse_pred(json::parse(R"({"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": "x"}})"), "");
  REQUIRE(regex.has_value());
  CHECK(std::get<regex_test>(regex->root().payload).letters == letter_case::exact);
  const auto none = parse_pred(json::parse(R"({"op": "in", "lhs": {"op": "const_null"}, "list": []})"), "");
  REQUIRE(none.has_value());
  CHECK(std::get<std::vector<number>>(std::get<literal_list>(none->root().payload)).empty());
}

TEST_CASE("payloads hold what the fields say") {
  const auto regex = parse_pred(
      json::parse(R"({"op": "regex", "key_id": 3002, "pattern": {"kind": "param", "param_id": 2}, "flags": "i"})"), "");
  REQUIRE(regex.has_value());
  const auto& test = std::get<regex_test>(regex->root().payload);
  CHECK(test.key_id == 3002);
  CHECK(std::get<param_number>(test.pattern).param_id == 2);
  CHECK(test.letters == letter_case::ignored);
  const auto in =
      parse_pred(json::parse(R"({"op": "in", "lhs": {"op": "key_ref", "key_id": 1}, "list": ["a", "b"]})"), "");
  REQUIRE(in.has_value());
  CHECK(std::get<std::vector<std::string>>(std::get<literal_list>(in->root().payload)) ==
        std::vector<std::string>{"a", "b"});
}
