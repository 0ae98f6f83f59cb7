// tests/rankd/embed/arrow_requests_test.cpp: tables of Arrow come in as requests, whatever their types and offsets.
#include <rankd/embed/arrow_requests.hpp>

#include <tests/rankd/embed/arrow_tables.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto requests(arrow_column from) -> std::vector<std::string> {
  const received in(std::move(from));
  if (const auto checked = check_request_type(in.type); !checked) return {checked.error().front().code};
  std::vector<std::string> out;
  for (std::int64_t row = 0; row < in.rows.length; ++row) out.push_back(request_text(in.type, in.rows, row));
  return out;
}

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("each row of a table is an object of the values that are not null") {
  const std::string second_is_null("\x05", 1);
  CHECK(requests(table({numbers<std::int64_t>("user_id", "l", {1, 2, -3}),
                        texts<std::int32_t>("request_id", "u", {"a", "b", "c\"\n"}, second_is_null),
                        numbers<double>("score", "g", {0.5, 2, 1e300})})) ==
        lines{R"({"user_id":1,"request_id":"a","score":0.5})", R"({"user_id":2,"score":2})",
              R"({"user_id":-3,"request_id":"c\"\n","score":1e+300})"});
  CHECK(requests(table({})).empty());
}

TEST_CASE("numbers of all widths, booleans and long texts are values of requests") {
  CHECK(requests(table({numbers<std::int8_t>("a", "c", {-128})})) == lines{R"({"a":-128})"});
  CHECK(requests(table({numbers<std::uint8_t>("a", "C", {255})})) == lines{R"({"a":255})"});
  CHECK(requests(table({numbers<std::int16_t>("a", "s", {-7})})) == lines{R"({"a":-7})"});
  CHECK(requests(table({numbers<std::uint16_t>("a", "S", {65535})})) == lines{R"({"a":65535})"});
  CHECK(requests(table({numbers<std::int32_t>("a", "i", {-7})})) == lines{R"({"a":-7})"});
  CHECK(requests(table({numbers<std::uint32_t>("a", "I", {4294967295U})})) == lines{R"({"a":4294967295})"});
  CHECK(requests(table({numbers<std::uint64_t>("a", "L", {18446744073709551615U})})) ==
        lines{R"({"a":18446744073709551615})"});
  CHECK(requests(table({numbers<float>("a", "f", {0.5F})})) == lines{R"({"a":0.5})"});
  CHECK(requests(table({numbers<double>("a", "g", {std::numeric_limits<double>::quiet_NaN()})})) ==
        lines{R"({"a":NaN})"});  // which a request reads as null
  CHECK(requests(table({texts<std::int64_t>("a", "U", {"", "x"})})) == lines{R"({"a":""})", R"({"a":"x"})"});
  arrow_column flags = numbers<std::uint8_t>("a", "b", {0x02});
  flags.length = 2;
  CHECK(requests(table({flags})) == lines{R"({"a":false})", R"({"a":true})"});
}

TEST_CASE("lists, structs, dictionaries and views of texts are values of requests") {
  arrow_column list = numbers<std::int32_t>("keys", "+l", {0, 2, 2});
  list.length = 2;
  list.children.push_back(texts<std::int32_t>("item", "u", {"id", "score"}));
  CHECK(requests(table({list})) == lines{R"({"keys":["id","score"]})", R"({"keys":[]})"});

  arrow_column pairs{.name = "v", .format = "+w:2", .length = 1, .buffers = {std::string()}};
  pairs.children.push_back(numbers<float>("item", "f", {1, 2}));
  CHECK(requests(table({pairs})) == lines{R"({"v":[1,2]})"});

  arrow_column context = table({texts<std::int32_t>("country", "u", {"FR"})});
  context.name = "context";
  CHECK(requests(table({context})) == lines{R"({"context":{"country":"FR"}})"});

  received coded(table({numbers<std::int8_t>("plan", "c", {1, 0})}));
  received words(texts<std::int32_t>("", "u", {"a", "b"}));
  coded.type.children[0]->dictionary = &words.type;
  coded.rows.children[0]->dictionary = &words.rows;
  REQUIRE(check_request_type(coded.type));
  CHECK(request_text(coded.type, coded.rows, 0) == R"({"plan":"b"})");
  const unsigned char second_is_null = 0x01;
  words.rows.buffers[0] = &second_is_null;
  CHECK(request_text(coded.type, coded.rows, 0) == "{}");
  CHECK(request_text(coded.type, coded.rows, 1) == R"({"plan":"a"})");
  coded.type.children[0]->dictionary = nullptr;

  std::string views(32, '\0');
  views[0] = 2;
  views.replace(4, 2, "ab");
  views[16] = 14;
  views[28] = 1;  // its place in the first buffer
  arrow_column viewed{
      .name = "a", .format = "vu", .length = 2, .buffers = {std::string(), std::move(views), ".long enough to be out"}};
  CHECK(requests(table({viewed})) == lines{R"({"a":"ab"})", R"({"a":"long enough to"})"});
}

TEST_CASE("a slice of a table begins at its offset") {
  received in(table({numbers<std::int64_t>("a", "l", {1, 2, 3}), texts<std::int32_t>("b", "u", {"x", "y", "z"})}));
  in.rows.offset = 1;
  CHECK(request_text(in.type, in.rows, 0) == R"({"a":2,"b":"y"})");
  in.rows.offset = 0;
  in.rows.children[0]->offset = 2;
  CHECK(request_text(in.type, in.rows, 0) == R"({"a":3,"b":"x"})");
}

TEST_CASE("a column called request has whole requests") {
  const std::string first_is_null("\x02", 1);
  CHECK(requests(table({numbers<std::int64_t>("other", "l", {1, 2}),
                        texts<std::int32_t>("request", "u", {"{}", R"({"user_id":1})"}, first_is_null)})) ==
        lines{"null", R"({"user_id":1})"});
  CHECK(requests(table({numbers<std::int64_t>("request", "l", {1})})) == lines{"unsupported_type"});
}

TEST_CASE("a row that is null is not a request") {
  received in(table({numbers<std::int64_t>("a", "l", {1, 2})}));
  const unsigned char first_is_null = 0x02;
  in.rows.buffers[0] = &first_is_null;
  CHECK(request_text(in.type, in.rows, 0) == "null");
  CHECK(request_text(in.type, in.rows, 1) == R"({"a":2})");
}

TEST_CASE("a column without a name has the empty name") {
  received in(table({numbers<std::int64_t>("a", "l", {1}), numbers<std::int64_t>("b", "tss:", {1})}));
  in.type.children[0]->name = nullptr;
  in.type.children[1]->name = nullptr;
  const auto checked = check_request_type(in.type);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().front().pointer == "/");
  CHECK(request_text(in.type, in.rows, 0) == R"({"":1,"":1})");
  CHECK_FALSE(request_line(in.type, in.rows, 0).has_value());
}

TEST_CASE("columns of types that JSON does not have are refused, each by its name") {
  received in(table({numbers<std::int64_t>("when", "tsm:UTC", {1}), numbers<std::int64_t>("user_id", "l", {1}),
                     texts<std::int32_t>("bytes", "z", {"x"})}));
  const auto checked = check_request_type(in.type);
  REQUIRE_FALSE(checked);
  REQUIRE(checked.error().size() == 2);
  CHECK(checked.error().front().pointer == "/when");
  CHECK(requests(numbers<std::int64_t>("", "l", {1})) == lines{"unsupported_type"});
}

TEST_CASE("a column called line has the numbers of the lines, and is not a member of the requests") {
  const std::string third_is_null("\x03", 1);
  const received in(table({numbers<std::int64_t>("line", "l", {7, 0, 9}, third_is_null),
                           numbers<std::int64_t>("user_id", "l", {1, 2, 3})}));
  REQUIRE(check_request_type(in.type));
  CHECK(request_text(in.type, in.rows, 0) == R"({"user_id":1})");
  CHECK(request_line(in.type, in.rows, 0) == 7);
  CHECK_FALSE(request_line(in.type, in.rows, 1).has_value());
  CHECK_FALSE(request_line(in.type, in.rows, 2).has_value());
  const received without(table({numbers<std::int64_t>("user_id", "l", {1})}));
  CHECK_FALSE(request_line(without.type, without.rows, 0).has_value());
  CHECK(requests(table({numbers<std::int32_t>("line", "i", {1})})) == lines{"unsupported_type"});
}
