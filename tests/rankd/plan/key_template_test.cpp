// tests/rankd/plan/key_template_test.cpp: what a template may say, and that no two values ever have one key.
#include <rankd/plan/key_template.hpp>

#include <braid/base/random.hpp>

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

using texts = std::vector<std::string>;

auto escaped(std::string_view value) -> std::string {
  std::string out;
  append_escaped(out, value);
  return out;
}

/// The code of what is wrong with a text; "fine" where nothing is.
auto said_of(std::string_view text) -> std::string {
  const auto parsed = key_template::parse(text);
  return parsed ? "fine" : parsed.error().code;
}

/// The key for these values.
auto key_of(const key_template& of, const texts& values) -> std::string {
  std::string out = of.literals.front();
  for (std::size_t at = 0; at < values.size(); ++at) {
    append_escaped(out, values[at]);
    out += of.literals[at + 1];
  }
  return out;
}

}  // namespace

TEST_CASE("holes are columns and params, and doubled braces are braces") {
  using enum template_hole::source_kind;
  const auto plain = key_template::parse("trending").value();
  CHECK((plain.literals == texts{"trending"}));
  CHECK(plain.holes.empty());
  const auto several = key_template::parse("shelf:{P.shop}:{id}/x").value();
  CHECK((several.literals == texts{"shelf:", ":", "/x"}));
  CHECK((several.holes == std::vector<template_hole>{{"shop", param}, {"id", column}}));
  const auto tagged = key_template::parse("cart:{{{id}}}:é").value();
  CHECK((tagged.literals == texts{"cart:{", "}:é"}));
  CHECK((tagged.holes == std::vector<template_hole>{{"id", column}}));
  CHECK((key_template::parse("{id}{{{P.p}").value().literals == texts{"", "{", ""}));
  CHECK((key_template::parse("{P}").value().holes == std::vector<template_hole>{{"P", column}}));
}

TEST_CASE("what is wrong with a template has a code") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "empty_key_template"},
      {std::string(511, 'k'), "fine"},
      {std::string(512, 'k'), "key_template_too_long"},
      {"{", "unbalanced_brace"},
      {"a:{id", "unbalanced_brace"},
      {"a:{id{x}", "unbalanced_brace"},
      {"a:}", "unbalanced_brace"},
      {"{id}}", "unbalanced_brace"},
      {"{{id}", "unbalanced_brace"},
      {"{}", "bad_hole"},
      {"{ id}", "bad_hole"},
      {"{P.}", "bad_hole"},
      {"{p.x}", "bad_hole"},
      {"{P.x.y}", "bad_hole"},
      {"{7}", "bad_hole"},
      {"{é}", "bad_hole"},
      {"{id}{country}", "ambiguous_key_template"},
      {"{id}-{country}", "ambiguous_key_template"},
      {"{id}%2E_.x{P.shop}", "ambiguous_key_template"},
      {"{id}x:{country}", "fine"},
      {"{id}:x{country}", "fine"},
      {"{id}{{{country}", "fine"},
      {"{id} {id}", "fine"},
  };
  for (const auto& [text, code] : cases) {
    CAPTURE(text.substr(0, 40));
    CHECK(said_of(text) == code);
  }
  const template_problem wrong = key_template::parse("a}").error();
  CHECK(wrong.message == "`}` at character 2 closes no `{`");
  CHECK(wrong.hint == "write braces of the key itself twice: `{{` and `}}`");
}

TEST_CASE("each byte that is not plain is escaped") {
  CHECK(escaped("Az09_.-") == "Az09_.-");
  CHECK(escaped("") == "");
  CHECK(escaped("a:b/{c}%") == "a%3Ab%2F%7Bc%7D%25");
  CHECK(escaped(std::string_view("\0\x7f\xff é", 6)) == "%00%7F%FF%20%C3%A9");
}

TEST_CASE("no two lists of values have one key, whatever they hold") {
  const std::string alphabet = "ab:{}%2F5-._/ ";
  braid::random_source random(7);
  const auto value = [&] {
    std::string out;
    for (std::uint64_t left = random.below(4); left != 0; --left) out += alphabet[random.below(alphabet.size())];
    return out;
  };
  for (const std::string_view text : {"{a}", "a{a}b:b{b}a", "{a}:{b}", "x:{a}/-%{b}2F:{P.c}", "{a}{{{b}}}{c}"}) {
    CAPTURE(text);
    const key_template parsed = key_template::parse(text).value();
    std::map<std::string, texts> seen;
    for (int round = 0; round < 20'000; ++round) {
      texts values;
      for (std::size_t at = 0; at < parsed.holes.size(); ++at) values.push_back(value());
      const auto [known, is_new] = seen.emplace(key_of(parsed, values), values);
      if (!is_new) REQUIRE((known->second == values));
    }
    CHECK(seen.size() > 500);
  }
}
