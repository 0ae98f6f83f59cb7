// tests/rankd/registry/row_id_test.cpp: which texts are ids, and how ids are spelled.
#include <rankd/registry/row_id.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("an id that is a text has 1 to 128 bytes of UTF-8 without NUL") {
  CHECK(is_text_id("a"));
  CHECK(is_text_id("007"));
  CHECK(is_text_id(" "));
  CHECK(is_text_id("\x01"));
  CHECK(is_text_id(std::string(max_id_bytes, 'x')));
  CHECK(is_text_id("z\xc3\xb6"));
  CHECK_FALSE(is_text_id(""));
  CHECK_FALSE(is_text_id(std::string(max_id_bytes + 1, 'x')));
  CHECK_FALSE(is_text_id(std::string("a\0b", 3)));
  CHECK_FALSE(is_text_id("\xff"));
  CHECK_FALSE(is_text_id("z\xc3"));
}

TEST_CASE("an id is spelled as its digits, or as it is") {
  CHECK(to_text(row_id(-7)) == "-7");
  CHECK(to_text(row_id("-7")) == "-7");
  std::string json;
  append_json_id(json, row_id(9223372036854775807));
  append_json_id(json, row_id("a\"b"));
  CHECK(json == R"(9223372036854775807"a\"b")");
}

TEST_CASE("a sentence says what an id is") {
  CHECK(id_sentence(value_type::integer) == "an integer of 64 bits, or a string of its digits");
  CHECK(id_sentence(value_type::string).find(std::to_string(max_id_bytes)) != std::string_view::npos);
}
