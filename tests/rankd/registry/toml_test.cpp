// tests/rankd/registry/toml_test.cpp: TOML as JSON values.
#include <rankd/registry/toml.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using rankd::parse_toml;

namespace {

auto code_of(std::string_view text) -> std::string {
  const auto refused = parse_toml(text, "x.toml");
  return refused ? "" : refused.error().front().code;
}

}  // namespace

TEST_CASE("tables, arrays and values keep their kinds") {
  const auto read = parse_toml("a = 1\nb = 1.0\n[c]\nd = [true, \"x\"]\n[[e]]\nf = 2\n[[e]]\n", "x.toml");
  REQUIRE(read);
  CHECK(*read == nlohmann::json::parse(R"({"a":1,"b":1.0,"c":{"d":[true,"x"]},"e":[{"f":2},{}]})"));
  CHECK((*read)["a"].is_number_integer());
  CHECK((*read)["b"].is_number_float());
}

TEST_CASE("a syntax error names line and column") {
  const auto refused = parse_toml("a = 1\nb = = 2\n", "x.toml");
  REQUIRE_FALSE(refused);
  const auto& problem = refused.error().front();
  CHECK(problem.code == "toml_syntax");
  CHECK(problem.source == "x.toml");
  CHECK(problem.message.starts_with("line 2, column 5: "));
}

TEST_CASE("invalid UTF-8, twice the same key and integers past 64 bits are syntax errors") {
  CHECK(code_of("a = \"\xFF\"") == "toml_syntax");
  CHECK(code_of("a = 1\na = 2") == "toml_syntax");
  CHECK(code_of("a = 9223372036854775808") == "toml_syntax");
}

TEST_CASE("letters that are not ASCII, and brackets, are syntax errors where they mean nothing") {
  for (const char* text :
       {"é = 1", "a = é", "a = 1 é", "\u2070 = 1", "日 = 1", "[é]", "[[[a]]]", "[[ [a]]", "[\"a\" é]"}) {
    CAPTURE(text);
    CHECK(code_of(text) == "toml_syntax");
  }
  CHECK(parse_toml("a = \"\"\"\\\n é\"\"\" # é", "x.toml").value()["a"] == "é");
}

TEST_CASE("dates are refused where they stand, all of them") {
  const auto refused = parse_toml("a = 2020-01-01\n[b]\nc = [12:00:00]\n", "x.toml");
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().size() == 2);
  CHECK(refused.error().begin()[0].pointer == "/a");
  CHECK(refused.error().begin()[1].pointer == "/b/c/0");
}

TEST_CASE("numbers that are not finite are refused with their value, all of them") {
  const auto refused = parse_toml("a = nan\nb = 1e308\nc = -0.0\n[d]\ne = [0.5, -inf]\nf = { g = +inf }\n", "x.toml");
  REQUIRE_FALSE(refused);
  std::vector<std::string> found;
  for (const auto& each : refused.error()) found.push_back(each.code + " " + each.pointer + ": " + each.message);
  CHECK((found == std::vector<std::string>{"non_finite_number /a: numbers must be finite, got `nan`",
                                           "non_finite_number /d/e/1: numbers must be finite, got `-inf`",
                                           "non_finite_number /d/f/g: numbers must be finite, got `inf`"}));
  CHECK(refused.error().front().source == "x.toml");
  const auto large = parse_toml("a = 1e400\n", "x.toml");
  REQUIRE_FALSE(large);
  CHECK(large.error().front().message.contains("1e400"));
}

TEST_CASE("dots that belong to no key are not counted") {
  const std::string dots(101, '.');
  std::string decimals = "1.5";
  for (int i = 0; i < 200; ++i) decimals += ", 1.5";
  for (const std::string& text : {"# " + dots, "a = 1 # " + dots, "a = \"" + dots + "\"", "a = '" + dots + "'",
                                  "a = \"\"\"\n" + dots + "\"\"\"\"\"", "a = '''" + dots + "\n'''",
                                  "a = [" + decimals + "]", "\"" + dots + "\" = 1", "a = \"\\\"#" + dots + "\""}) {
    CAPTURE(text);
    CHECK(code_of(text).empty());
  }
}

TEST_CASE("the parts of a key are counted, whatever stands around them and between them") {
  const auto key = [](int parts, const std::string& dot) {
    std::string out = "a";
    for (int i = 1; i < parts; ++i) out += dot + "a";
    return out;
  };
  CHECK(code_of(key(101, ".") + " = 1").empty());
  for (const std::string dot : {".", " . ", ".'b'.", ".\"#\"."}) {
    const std::string long_key = key(102, dot);
    for (const std::string& text :
         {long_key + " = 1", "[" + long_key + "]", "[[" + long_key + "]]", "x = { " + long_key + " = 1 }",
          "x = \"\"\"y\"\"\"\"\nz = { " + long_key + " = 1 }", "x = ['''y'''', { " + long_key + " = 1 }]",
          "x = \"\\\"\" # '\n" + long_key + " = 1", "x = 'a\\'\n" + long_key + " = 1"}) {
      CAPTURE(text);
      CHECK(code_of(text) == "toml_too_deep");
    }
  }
}

TEST_CASE("neither deep keys nor deep arrays exhaust the stack") {
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) key += ".a";
  CHECK(code_of(key + " = 1") == "toml_too_deep");
  CHECK(code_of("a = " + std::string(200'000, '[')) == "toml_syntax");
}
