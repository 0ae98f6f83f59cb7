// tests/rankd/registry/payload_rules_test.cpp: schemas that are refused, and payloads against those that are not.
#include <rankd/registry/payload_rules.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

using lines = std::vector<std::string>;

auto list(const braid::diagnostics& problems) -> lines {
  lines out;
  for (const auto& item : problems) out.push_back(item.code + " " + item.pointer);
  return out;
}

auto rules(std::string_view schema) -> payload_rules {
  auto made = payload_rules::compile(json::parse(schema), "/s");
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().to_text()));
  return std::move(*made);
}

auto faults(const json& schema) -> lines {
  const auto made = payload_rules::compile(schema, "/s");
  return made ? lines() : list(made.error());
}

auto faults(std::string_view schema) -> lines { return faults(json::parse(schema)); }

auto check(std::string_view schema, std::string_view payload) -> lines {
  return list(rules(schema).check(json::parse(payload), "/p"));
}

struct payload_case {
  std::string_view schema;
  std::vector<std::string_view> right;
  std::vector<std::pair<std::string_view, lines>> wrong;  ///< payload, "code pointer"
};

const lines wrong_type{"wrong_type /p"};
const lines out_of_range{"out_of_range /p"};
const lines bad_value{"bad_value /p"};

const std::vector<payload_case> payload_cases{
    {"{}", {"null", "1", "[[]]", R"({"a":{"b":1}})"}, {}},
    {R"({"title":"t","description":"d"})", {"null"}, {}},
    // types
    {R"({"type":"null"})", {"null"}, {{"0", wrong_type}, {"false", wrong_type}}},
    {R"({"type":"boolean"})", {"true", "false"}, {{"null", wrong_type}, {"0", wrong_type}, {"\"true\"", wrong_type}}},
    {R"({"type":"integer"})",
     {"0", "-9223372036854775808", "18446744073709551615"},
     {{"1.0", wrong_type}, {"1.5", wrong_type}, {"\"1\"", wrong_type}, {"true", wrong_type}}},
    {R"({"type":"number"})", {"0", "1.0", "1.5"}, {{"null", wrong_type}, {"\"1\"", wrong_type}}},
    {R"({"type":"string"})", {"\"\"", "\"x\""}, {{"1", wrong_type}, {"[]", wrong_type}}},
    {R"({"type":"array"})", {"[]", "[1]"}, {{"{}", wrong_type}}},
    {R"({"type":"object"})", {"{}", R"({"a":1})"}, {{"[]", wrong_type}, {"null", wrong_type}}},
    {R"({"type":["string","null","integer"]})", {"\"x\"", "null", "1"}, {{"1.5", wrong_type}, {"[]", wrong_type}}},
    // values
    {R"({"enum":["a",1,null,{"b":[1,2]}]})",
     {"\"a\"", "1", "1.0", "null", R"({"b":[1,2]})"},
     {{"\"b\"", bad_value}, {"\"1\"", bad_value}, {R"({"b":[2,1]})", bad_value}, {"true", bad_value}}},
    {R"({"const":9007199254740993})", {"9007199254740993"}, {{"9007199254740992", bad_value}}},
    {R"({"type":"string","enum":["a"]})", {"\"a\""}, {{"1", wrong_type}, {"\"b\"", bad_value}}},
    // objects
    {R"({"properties":{"a":{"type":"integer"},"b/~":{"type":"string"}}})",
     {"{}", R"({"a":1,"z":null})", "7"},
     {{R"({"a":"x","b/~":1})", {"wrong_type /p/a", "wrong_type /p/b~1~0"}}}},
    {R"({"required":["a","b"]})",
     {R"({"a":1,"b":null})", "[]"},
     {{"{}", {"missing_field /p", "missing_field /p"}}, {R"({"b":1})", {"missing_field /p"}}}},
    {R"({"properties":{"a":{}},"additionalProperties":false})",
     {"{}", R"({"a":1})"},
     {{R"({"a":1,"b":1,"c":1})", {"unknown_field /p/b", "unknown_field /p/c"}}}},
    {R"({"additionalProperties":true})", {R"({"a":1})"}, {}},
    {R"({"properties":{"a":{}},"additionalProperties":{"type":"integer"}})",
     {R"({"a":"x","b":1})"},
     {{R"({"b":"x"})", {"wrong_type /p/b"}}}},
    // arrays
    {R"({"items":{"type":"integer"}})",
     {"[]", "[1,2]", "\"x\""},
     {{R"([1,"x",2,null])", {"wrong_type /p/1", "wrong_type /p/3"}}}},
    {R"({"minItems":1,"maxItems":2})", {"[1]", "[1,2]"}, {{"[]", out_of_range}, {"[1,2,3]", out_of_range}}},
    // text: characters are counted, not bytes
    {R"({"minLength":2,"maxLength":3})",
     {"\"ab\"", "\"€€€\"", "\"😀😀\"", "1"},
     {{"\"a\"", out_of_range}, {"\"€€€€\"", out_of_range}}},
    {R"({"pattern":"^a+$"})", {"\"aa\"", "1"}, {{"\"ab\"", bad_value}}},
    {R"({"pattern":"b"})", {"\"abc\""}, {{"\"B\"", bad_value}}},
    {R"({"maxLength":1,"pattern":"a"})", {"\"a\""}, {{"\"bb\"", {"out_of_range /p", "bad_value /p"}}}},
    // numbers compare as what they are
    {R"({"minimum":1,"maximum":2.5})",
     {"1", "2.5", "1.0", "\"x\""},
     {{"0", out_of_range}, {"0.999", out_of_range}, {"2.6", out_of_range}, {"3", out_of_range}}},
    {R"({"exclusiveMinimum":1,"exclusiveMaximum":2})",
     {"1.5"},
     {{"1", out_of_range}, {"2", out_of_range}, {"1.0", out_of_range}}},
    {R"({"minimum":9007199254740993})", {"9007199254740993"}, {{"9007199254740992", out_of_range}}},
    {R"({"maximum":9223372036854775807})",
     {"9223372036854775807"},
     {{"9223372036854775808", out_of_range}, {"9223372036854775808.0", out_of_range}}},
    // deep inside
    {R"({"properties":{"a":{"items":{"properties":{"b":{"maximum":1}},"required":["b"]}}}})",
     {R"({"a":[{"b":1}]})"},
     {{R"({"a":[{"b":1},{"b":2},{}]})", {"out_of_range /p/a/1/b", "missing_field /p/a/2"}}}},
};

}  // namespace

TEST_CASE("payloads are held against every keyword, with all diagnostics at their places") {
  for (const payload_case& each : payload_cases) {
    CAPTURE(each.schema);
    for (const std::string_view payload : each.right) {
      CAPTURE(payload);
      CHECK(check(each.schema, payload).empty());
    }
    for (const auto& [payload, expected] : each.wrong) {
      CAPTURE(payload);
      CHECK((check(each.schema, payload) == expected));
    }
  }
}

TEST_CASE("diagnostics are sentences, and a misspelt field gets a hint") {
  const auto only = [](std::string_view schema, std::string_view payload) {
    return rules(schema).check(json::parse(payload), "").front();
  };
  CHECK(only(R"({"type":["string","null","integer"]})", "[]").message ==
        "the value must be of type null, integer or string, not an array");
  CHECK(only(R"({"minLength":2})", "\"a\"").message == "the value must have at least 2 characters, not 1");
  CHECK(only(R"({"maximum":2.5})", "3").message == "the value must be at most 2.5");
  CHECK(only(R"({"enum":["a",1]})", "2").message == "the value must be one of `\"a\", 1`");
  CHECK(only(R"({"properties":{"weight":{}},"additionalProperties":false})", R"({"wieght":1})").hint ==
        "did you mean `weight`?");
}

TEST_CASE("whatever is no schema of this subset is refused, each fault at its place") {
  const std::vector<std::pair<std::string_view, lines>> table{
      {R"("string")", {"/s"}},
      {R"({"$ref":"#"})", {"/s/$ref"}},
      {R"({"format":"date"})", {"/s/format"}},
      {R"({"anyOf":[{}],"allOf":[{}],"not":{}})", {"/s/allOf", "/s/anyOf", "/s/not"}},
      {R"({"multipleOf":2,"uniqueItems":true,"patternProperties":{}})",
       {"/s/multipleOf", "/s/patternProperties", "/s/uniqueItems"}},
      {R"({"type":"int"})", {"/s/type"}},
      {R"({"type":[]})", {"/s/type"}},
      {R"({"type":["string",1]})", {"/s/type"}},
      {R"({"type":null})", {"/s/type"}},
      {R"({"enum":[]})", {"/s/enum"}},
      {R"({"enum":"a"})", {"/s/enum"}},
      {R"({"enum":[1],"const":1})", {"/s/const"}},
      {R"({"properties":[]})", {"/s/properties"}},
      {R"({"properties":{"a":true}})", {"/s/properties/a"}},
      {R"({"properties":{"a/b":{"typo":1}}})", {"/s/properties/a~1b/typo"}},
      {R"({"required":"a"})", {"/s/required"}},
      {R"({"required":[1]})", {"/s/required"}},
      {R"({"required":["a","a"]})", {"/s/required"}},
      {R"({"additionalProperties":"no"})", {"/s/additionalProperties"}},
      {R"({"additionalProperties":{"type":"x"}})", {"/s/additionalProperties/type"}},
      {R"({"items":[{}]})", {"/s/items"}},
      {R"({"items":{"minItems":-1}})", {"/s/items/minItems"}},
      {R"({"maxItems":1.0})", {"/s/maxItems"}},
      {R"({"minItems":2,"maxItems":1})", {"/s/maxItems"}},
      {R"({"minLength":"1"})", {"/s/minLength"}},
      {R"({"minLength":2,"maxLength":1})", {"/s/maxLength"}},
      {R"({"minimum":"1"})", {"/s/minimum"}},
      {R"({"exclusiveMaximum":true})", {"/s/exclusiveMaximum"}},
      {R"({"pattern":"("})", {"/s/pattern"}},
      {R"x({"pattern":"(?=a)"})x", {"/s/pattern"}},
      {R"({"pattern":1})", {"/s/pattern"}},
      {R"({"title":1,"description":[]})", {"/s/title", "/s/description"}},
  };
  for (const auto& [schema, pointers] : table) {
    CAPTURE(schema);
    lines expected;
    for (const std::string& each : pointers) expected.push_back("bad_payload_schema " + each);
    CHECK((faults(schema) == expected));
  }
  CHECK((faults(json{{"minimum", std::numeric_limits<double>::infinity()}}) == lines{"bad_payload_schema /s/minimum"}));
  CHECK((faults(json{{"pattern", std::string(5000, 'a')}}) == lines{"bad_payload_schema /s/pattern"}));
  const auto misspelt = payload_rules::compile(json::parse(R"({"requird":["a"]})"), "");
  CHECK(misspelt.error().front().hint == "did you mean `required`?");
}

TEST_CASE("schemas nest to a bound, and payloads may nest as deep as documents do") {
  const auto nested = [](std::size_t depth) {
    json schema = {{"type", "integer"}};
    for (std::size_t i = 1; i < depth; ++i) schema = {{"items", std::move(schema)}};
    return schema;
  };
  CHECK(faults(nested(payload_rules::max_depth)).empty());
  const lines refused = faults(nested(payload_rules::max_depth + 1));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].starts_with("bad_payload_schema /s/items/items/"));

  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  CHECK(check(R"({"items":{"items":{}}})", deep).empty());
  CHECK((check(R"({"items":{"enum":[[]]}})", deep) == lines{"bad_value /p/0"}));
}

TEST_CASE("a payload that is wrong all through gets as many diagnostics as a person can use") {
  std::string many = "[0";
  for (int i = 0; i < 5000; ++i) many += ",0";
  CHECK(check(R"({"items":{"type":"string"}})", many + "]").size() == payload_rules::max_diagnostics);
  json fields = json::object();
  for (int i = 0; i < 5000; ++i) fields["f" + std::to_string(i)] = 1;
  CHECK(check(R"({"additionalProperties":false})", fields.dump()).size() == payload_rules::max_diagnostics);
}

TEST_CASE("copies share what was compiled, and outlive each other") {
  auto first = std::make_unique<const payload_rules>(rules(R"({"pattern":"^x"})"));
  const payload_rules second = *first;
  first.reset();
  CHECK(second.check("xy", "").empty());
  CHECK(second.check("y", "").size() == 1);
}
