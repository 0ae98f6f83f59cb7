// tests/rankd/registry/text_pattern_test.cpp: patterns match any part, and are bounded in length and memory.
#include <rankd/registry/text_pattern.hpp>

#include <string>

#include <doctest/doctest.h>

using rankd::letter_case;
using rankd::text_pattern;

TEST_CASE("a pattern matches any part of a text, whatever its bytes") {
  const auto pattern = text_pattern::compile("b+c", letter_case::exact);
  REQUIRE(pattern.has_value());
  CHECK(pattern->matches("abbcd"));
  CHECK(
      pattern->matches("\xff\xfe"
                       "bc"));
  CHECK_FALSE(pattern->matches("BC"));
  CHECK_FALSE(pattern->matches(""));
  CHECK(text_pattern::compile("b+c", letter_case::ignored)->matches("BC"));
  CHECK(text_pattern::compile("", letter_case::exact)->matches(""));
}

TEST_CASE("what RE2 refuses, and what would cost too much, is refused with a reason") {
  for (const std::string& bad :
       {std::string("("), std::string("(?=a)"), std::string("\\1"), std::string("\xff"),
        std::string(text_pattern::max_bytes + 1, 'a'), std::string("((a{1,100}){1,100}){1,100}")}) {
    const auto pattern = text_pattern::compile(bad, letter_case::exact);
    REQUIRE_FALSE(pattern.has_value());
    CHECK_FALSE(pattern.error().empty());
  }
  CHECK(text_pattern::compile(std::string(text_pattern::max_bytes, 'a'), letter_case::exact).has_value());
}

TEST_CASE("a pattern that would ruin a backtracking engine takes linear time") {
  const auto pattern = text_pattern::compile("(a*)*b", letter_case::exact);
  REQUIRE(pattern.has_value());
  CHECK_FALSE(pattern->matches(std::string(100'000, 'a')));
}
