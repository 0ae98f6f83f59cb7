// tests/rankd/expr/formula_text_test.cpp: formulas with the names of the registries and no parenthesis too many.
#include <rankd/expr/formula_text.hpp>

#include <rankd/expr/parse.hpp>
#include <rankd/registry/registries.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

auto declared() -> const registries& {
  static const registries loaded = registries::load("tests/rankd/tables/registry", "dev").value();
  return loaded;
}

auto value_text(const json& tree) -> std::string {
  const auto parsed = parse_expr(tree, "");
  REQUIRE(parsed.has_value());
  return formula_text(*parsed, declared());
}

auto truth_text(const json& tree) -> std::string {
  const auto parsed = parse_pred(tree, "");
  REQUIRE(parsed.has_value());
  return formula_text(*parsed, declared());
}

const json score = {{"op", "key_ref"}, {"key_id", 1001}};
const json weight = {{"op", "param_ref"}, {"param_id", 1}};

auto constant(json value) -> json { return {{"op", "const_number"}, {"value", std::move(value)}}; }
auto one(const char* op, json x) -> json { return {{"op", op}, {"x", std::move(x)}}; }
auto two(const char* op, json a, json b) -> json { return {{"op", op}, {"a", std::move(a)}, {"b", std::move(b)}}; }
auto cmp(const char* how, json a, json b) -> json {
  json out = two("cmp", std::move(a), std::move(b));
  out["cmp"] = how;
  return out;
}

}  // namespace

TEST_CASE("keys and params have their names, and what is not declared its number") {
  CHECK(value_text(two("mul", score, two("coalesce", weight, constant(0.2)))) == "Key.score * (P.weight ?? 0.2)");
  CHECK(value_text({{"op", "key_ref"}, {"key_id", 77}}) == "Key[77]");
  CHECK(value_text({{"op", "param_ref"}, {"param_id", 78}}) == "P[78]");
  CHECK(key_text(3001, declared()) == "Key.country");
  CHECK(param_text(2, declared()) == "P.pattern");
}

TEST_CASE("parentheses stand where precedence or order wants them, and nowhere else") {
  const json sum = two("add", score, constant(1));
  const json product = two("mul", score, constant(2));
  CHECK(value_text(two("add", product, sum)) == "Key.score * 2 + (Key.score + 1)");
  CHECK(value_text(two("add", sum, product)) == "Key.score + 1 + Key.score * 2");
  CHECK(value_text(two("sub", sum, sum)) == "Key.score + 1 - (Key.score + 1)");
  CHECK(value_text(two("mul", sum, product)) == "(Key.score + 1) * (Key.score * 2)");
  CHECK(value_text(two("div", product, sum)) == "Key.score * 2 / (Key.score + 1)");
  CHECK(value_text(two("coalesce", two("coalesce", score, weight), sum)) == "Key.score ?? P.weight ?? Key.score + 1");
  CHECK(value_text(two("coalesce", score, two("coalesce", weight, sum))) == "Key.score ?? (P.weight ?? Key.score + 1)");
}

TEST_CASE("signs and powers are spelled so that JavaScript reads them") {
  CHECK(value_text(one("neg", one("neg", score))) == "-(-Key.score)");
  CHECK(value_text(one("neg", constant(-3))) == "-(-3)");
  CHECK(value_text(two("pow", one("neg", score), constant(2))) == "(-Key.score) ** 2");
  CHECK(value_text(two("pow", constant(-2), score)) == "(-2) ** Key.score");
  CHECK(value_text(two("pow", score, two("pow", score, constant(-1)))) == "Key.score ** Key.score ** -1");
  CHECK(value_text(two("pow", two("pow", score, score), score)) == "(Key.score ** Key.score) ** Key.score");
  CHECK(value_text(two("mul", constant(9007199254740993), constant(0.5))) == "9007199254740993 * 0.5");
}

TEST_CASE("the other ops are functions, with their operands in order") {
  CHECK(value_text(two("min", score, constant(1))) == "E.min(Key.score, 1)");
  CHECK(value_text({{"op", "clamp"}, {"x", score}, {"lo", constant(0)}, {"hi", two("add", score, constant(1))}}) ==
        "E.clamp(Key.score, 0, Key.score + 1)");
  CHECK(value_text({{"op", "if"}, {"pred", cmp(">", score, weight)}, {"a", score}, {"b", {{"op", "const_null"}}}}) ==
        "E.if(Key.score > P.weight, Key.score, null)");
}

TEST_CASE("predicates are printed as they are written") {
  const json above = cmp(">=", score, constant(0.6));
  const json country = {{"op", "in"}, {"lhs", {{"op", "key_ref"}, {"key_id", 3001}}}, {"list", {"US", "C\"A"}}};
  CHECK(truth_text(above) == "Key.score >= 0.6");
  CHECK(truth_text(country) == R"(Key.country in ["US", "C\"A"])");
  CHECK(truth_text(two("and", two("or", above, country), one("not", country))) ==
        R"((Key.score >= 0.6 || Key.country in ["US", "C\"A"]) && !(Key.country in ["US", "C\"A"]))");
  CHECK(truth_text(two("or", two("and", above, above), one("is_null", score))) ==
        "Key.score >= 0.6 && Key.score >= 0.6 || Key.score == null");
  CHECK(truth_text(one("not_null", two("coalesce", score, weight))) == "(Key.score ?? P.weight) != null");
  CHECK(truth_text(cmp("==", two("coalesce", score, weight), constant(1))) == "(Key.score ?? P.weight) == 1");
  CHECK(truth_text(
            {{"op", "regex"}, {"key_id", 3002}, {"pattern", {{"kind", "literal"}, {"value", "^a"}}}, {"flags", "i"}}) ==
        R"(regex(Key.title, "^a", "i"))");
  CHECK(truth_text({{"op", "regex"}, {"key_id", 3002}, {"pattern", {{"kind", "param"}, {"param_id", 2}}}}) ==
        "regex(Key.title, P.pattern)");
  CHECK(truth_text({{"op", "const_bool"}, {"value", false}}) == "false");
}

TEST_CASE("remainders, buckets and tests of strings are printed as they are written") {
  const json country = {{"kind", "key"}, {"key_id", 3001}};
  const json pattern = {{"kind", "param"}, {"param_id", 2}};
  const json text = {{"kind", "literal"}, {"value", "a\"b"}};
  const auto pair = [](const char* op, const json& a, const json& b) -> json {
    return {{"op", op}, {"cmp", "<="}, {"a", a}, {"b", b}};
  };
  CHECK(value_text(two("mod", two("add", score, weight), two("mod", score, weight))) ==
        "(Key.score + P.weight) % (Key.score % P.weight)");
  CHECK(value_text({{"op", "bucket"}, {"x", score}, {"count", 10}}) == "E.bucket(Key.score, 10)");
  CHECK(value_text({{"op", "bucket"}, {"x", score}, {"count", 10}, {"seed", "x"}}) ==
        R"(E.bucket(Key.score, 10, "x"))");
  CHECK(truth_text(pair("cmp_text", country, pattern)) == "Key.country <= P.pattern");
  const auto part = [](const char* op, const json& a, const json& b) -> json {
    return {{"op", op}, {"a", a}, {"b", b}};
  };
  CHECK(truth_text(part("starts_with", country, text)) == R"(Key.country.startsWith("a\"b"))");
  CHECK(truth_text(part("ends_with", pattern, country)) == "P.pattern.endsWith(Key.country)");
  CHECK(truth_text(one("not", part("contains", country, pattern))) == "!Key.country.includes(P.pattern)");
}
