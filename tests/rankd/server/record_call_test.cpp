// tests/rankd/server/record_call_test.cpp: the lines of a call: what they change, and everything that is wrong with
// them.
#include <rankd/server/records/record_call.hpp>

#include <rankd/store/record.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a call is a list of changes, with the numbers of their lines") {
  const auto changes = parse_record_call(
      "\xef\xbb\xbf{\"delete\":\"a\"}\r\n\n{\"delete\":\"b\",\"fields\":[\"y\",\"x\"]}\n"
      "{\"string\":\"c\",\"value\":\"text\"}",
      {});
  REQUIRE(changes.has_value());
  REQUIRE(changes->size() == 3);
  CHECK((*changes)[0].key == "a");
  CHECK((*changes)[0].bytes.empty());
  CHECK((*changes)[0].fields.empty());
  CHECK((*changes)[1].line == 3);
  CHECK((*changes)[1].fields == std::vector<std::string>{"x", "y"});
  CHECK(record_view::parse((*changes)[2].bytes)->text_at(0) == "text");
}

TEST_CASE("all wrong lines are reported, a key that occurs twice at its second line") {
  const auto wrong = parse_record_call("{\"delete\":\"a\"}\n{\"delete\":\"a\"}\n{}\n", {});
  REQUIRE_FALSE(wrong.has_value());
  REQUIRE(wrong.error().size() == 2);
  CHECK(wrong.error().front().code == "duplicate_key");
  CHECK(wrong.error().front().message == "line 2: the key `a` is already in line 1");
  CHECK(parse_record_call("", {}).error().front().code == "empty_body");
  CHECK(parse_record_call("{\"hash\":\"a\",\"fields\":{\"v\":[1]}}", {{"v", 2}}).error().front().code ==
        "wrong_length");
}
