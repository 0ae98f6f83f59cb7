// tests/rankd/registry/names_test.cpp: which names are well formed.
#include <rankd/registry/names.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("an identifier has letters, digits and underscores, and no digit in front") {
  for (const char* good : {"a", "_x", "model_score_1", "Z9"}) CHECK(is_identifier(good));
  for (const char* bad : {"", "1a", "a-b", "a b", "é"}) CHECK_FALSE(is_identifier(bad));
}

TEST_CASE("a plan word may start with a digit") {
  CHECK(is_plan_word("0_reels"));
  for (const char* bad : {"", "a.b", "a/b", "..", "a\n"}) CHECK_FALSE(is_plan_word(bad));
}

TEST_CASE("an endpoint id has exactly four digits") {
  CHECK(is_endpoint_id("ep_0001"));
  for (const char* bad : {"", "ep_001", "ep_00001", "ep_000x", "xp_0001", "ep_0001 "}) CHECK_FALSE(is_endpoint_id(bad));
}

TEST_CASE("a capability id has a number, a slug and a version") {
  for (const char* good : {"cap.rfc.0001.math.v1", "cap.rfc.9999.a_2.v10"}) CHECK(is_capability_id(good));
  for (const char* bad : {"", "cap.rfc.001.math.v1", "cap.rfc.0001.math", "cap.rfc.0001..v1", "cap.rfc.0001.Math.v1",
                          "cap.rfc.0001.math.v0", "cap.rfc.0001.math.v01", "cap.rfc.0001.math.v", "cap.rfc.0001.math.1",
                          "cap.rfc.0001.math.v1.", "cap.rfc.0001.2d.v1", "cap.rfc.0001math.v1"})
    CHECK_FALSE_MESSAGE(is_capability_id(bad), bad);
}

TEST_CASE("UTF-8 has no overlong forms, surrogates, or characters past the last") {
  for (const char* good : {"", "a", "é", "€", "😀", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"})
    CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xE2\x28\xA1"})
    CHECK_FALSE(is_utf8(bad));
  CHECK(utf8_character("€x") == 3);
  CHECK(utf8_character("x€") == 1);
  CHECK(utf8_character("\xE2\x82") == 0);
  CHECK(utf8_prefix("ab\xFFzz") == 2);
  CHECK(utf8_prefix("a\xE2\x82") == 1);
}

TEST_CASE("a long name is cut between characters") {
  CHECK(quote_name("x") == "`x`");
  std::string name(79, 'a');
  name += "€€";
  CHECK(quote_name(name) == "`" + std::string(79, 'a') + "…`");
}
