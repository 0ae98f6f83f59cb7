// tests/rankd/plan/json_test.cpp: documents that are right, and the many ways in which bytes can be no document.
#include <rankd/plan/json.hpp>
#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using rankd::parse_json;

namespace {

using lines = std::vector<std::string>;

auto diagnostics(std::string_view text) -> lines {
  const auto read = parse_json(text, "x.json");
  lines out;
  if (read) return out;
  for (const auto& item : read.error()) {
    CHECK(item.source == "x.json");
    out.push_back(item.code + " " + item.pointer);
  }
  return out;
}

auto message(std::string_view text) -> std::string {
  const auto read = parse_json(text, "x.json");
  return read ? "" : read.error().front().message;
}

auto nested(std::size_t depth) -> std::string { return std::string(depth, '[') + std::string(depth, ']'); }

struct bad_document {
  std::string text;
  lines diagnostics;
};

const std::vector<bad_document> bad_documents{
    {"", {"json_syntax "}},
    {"{", {"json_syntax "}},
    {"[1,]", {"json_syntax "}},
    {"{\"a\":1} x", {"json_syntax "}},
    {"// c\n1", {"json_syntax "}},
    {"NaN", {"json_syntax "}},
    {"[01]", {"json_syntax "}},
    {"'a'", {"json_syntax "}},
    {"\"a\nb\"", {"json_syntax "}},
    {"\"\\ud800\"", {"json_syntax "}},
    {std::string("[1]\0[2]", 7), {"json_syntax "}},
    {"\"\xFF\"", {"invalid_utf8 "}},
    {"\"\xED\xA0\x80\"", {"invalid_utf8 "}},
    {"[1] \xC3", {"invalid_utf8 "}},
    {"1e400", {"number_out_of_range "}},
    {"{\"a\":[1,{\"b\":-1e400}]}", {"number_out_of_range /a/1/b"}},
    {"[0,1e400]", {"number_out_of_range /1"}},
    {"[18446744073709551617]", {"number_out_of_range /0"}},
    {"[-9223372036854775809,18446744073709551617]", {"number_out_of_range /0", "number_out_of_range /1"}},
    {"{\"a\":1,\"a\":2}", {"duplicate_field /a"}},
    {"{\"x\":[{\"a~/\":1,\"b\":{},\"a~/\":2}],\"x\":3}", {"duplicate_field /x/0/a~0~1", "duplicate_field /x"}},
    {"{\"a\":1,\"\\u0061\":2}", {"duplicate_field /a"}},
    {nested(1001), {"json_too_deep "}},
    {nested(300'000), {"json_too_deep "}},
    {std::string(300'000, '['), {"json_too_deep "}},
    {std::string(rankd::largest_document + 1, ' '), {"file_too_large "}},
};

}  // namespace

TEST_CASE("a document keeps the kinds of its numbers exact") {
  const auto read = parse_json("[9223372036854775807,-9223372036854775808,18446744073709551615,1.0,1e3,5e-324]", "x");
  REQUIRE(read);
  CHECK((*read)[0].get<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  CHECK((*read)[1].get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK((*read)[2].is_number_unsigned());
  CHECK((*read)[2].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK((*read)[3].is_number_float());
  CHECK((*read)[4].is_number_float());
  CHECK((*read)[5].get<double>() == 5e-324);
}

TEST_CASE("a document is read as the library reads it") {
  const std::string text =
      R"( {"a":[1,[2,{}],[]],"b":{"c":null,"d":[{"e":true},false]},"":"\u00e9\ud83d\ude00","f":{"a":{"a":-1.5}}} )";
  const auto read = parse_json(text, "x");
  REQUIRE(read);
  CHECK(*read == json::parse(text));
  CHECK(parse_json("3", "x") == json(3));
  CHECK(parse_json("null", "x") == json());
}

TEST_CASE("a byte order mark in front of a document is passed over") {
  CHECK(parse_json("\xEF\xBB\xBF[1]", "x").value() == nlohmann::json{1});
  CHECK_FALSE(parse_json("[1]\xEF\xBB\xBF", "x").has_value());
}

TEST_CASE("tokens of other programs for numbers that are not finite are read if they are asked for") {
  const auto read = rankd::parse_foreign_json(
      R"(["NaN",NaN,1,-Infinity,{"Infinity":Infinity,"\"NaN":[-2.5,NaN]},"-Infinity\\",3,NaN])", "x");
  REQUIRE(read);
  CHECK((*read)[0] == "NaN");
  CHECK(std::isnan((*read)[1].get<double>()));
  CHECK((*read)[2] == 1);
  CHECK((*read)[3].get<double>() == -std::numeric_limits<double>::infinity());
  CHECK((*read)[4]["Infinity"].get<double>() == std::numeric_limits<double>::infinity());
  CHECK((*read)[4]["\"NaN"][0] == -2.5);
  CHECK(std::isnan((*read)[4]["\"NaN"][1].get<double>()));
  CHECK((*read)[5] == "-Infinity\\");
  CHECK((*read)[6] == 3);
  CHECK(std::isnan((*read)[7].get<double>()));
  CHECK(std::isnan(rankd::parse_foreign_json("\xEF\xBB\xBFNaN", "x")->get<double>()));
  for (const std::string text : {"[nan]", "[-NaN]", "[+Infinity]", "[1NaN]", "[NaN1]", "[NaN NaN]", "{NaN:1}", "[NaN",
                                 "[\"NaN]", "[Infinit]", "[--Infinity]", "[NaN,]", "[.5,NaN]"}) {
    CAPTURE(text);
    const auto refused = rankd::parse_foreign_json(text, "x");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().front().code == "json_syntax");
  }
  CHECK(rankd::parse_foreign_json("[NaN,\n  x]", "x").error().front().message.starts_with("line 2, column 3: "));
  CHECK_FALSE(parse_json("[NaN]", "x").has_value());
  CHECK_FALSE(parse_json("[Infinity]", "x").has_value());
}

TEST_CASE("a document of another program has limits of its own") {
  const auto code = [](const std::string& text, const rankd::foreign_json& limits) {
    const auto read = rankd::parse_foreign_json(text, "x", limits);
    return read ? std::string() : read.error().front().code;
  };
  CHECK(code("[1]" + std::string(rankd::largest_document, ' '), {.max_bytes = 2 * rankd::largest_document}).empty());
  CHECK(code("[1]" + std::string(rankd::largest_document, ' '), {}) == "file_too_large");
  CHECK(code("[1,2,3]", {.max_memory = 4 * sizeof(json)}).empty());
  CHECK(code("[1,2,3]", {.max_memory = 4 * sizeof(json) - 1}) == "file_too_large");
  CHECK(code("[[],[],[]]", {.max_memory = 4 * sizeof(json) - 1}) == "file_too_large");
  CHECK(code(R"({"a":1})", {.max_memory = 3 * sizeof(json)}) == "file_too_large");
  CHECK(code(R"([")" + std::string(200, 'a') + R"("])", {.max_memory = 200}) == "file_too_large");
}

TEST_CASE("a document of UBJSON is the same as its JSON, and its limits hold") {
  const json document =
      json::parse(R"({"a":[1,2.5,-3,"x",true,false,null],"big":9223372036854775807,"b":{"":[[],{}]}})");
  const auto read = [](std::string_view bytes, const rankd::foreign_json& limits = {}) {
    return rankd::parse_ubjson(bytes, "x.ubj", limits);
  };
  const auto code = [&read](std::string_view bytes, const rankd::foreign_json& limits = {}) {
    const auto made = read(bytes, limits);
    if (!made) CHECK(made.error().front().source == "x.ubj");
    return made ? std::string() : made.error().front().code;
  };
  for (const auto& [with_size, with_type] : {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
    const auto bytes = json::to_ubjson(document, with_size, with_type);
    const std::string text(bytes.begin(), bytes.end());
    CHECK(rankd::is_ubjson(text));
    CHECK((read(text).value() == document));
    CHECK(code(text.substr(0, text.size() - 1)) == "json_syntax");
    CHECK(code(text, {.max_bytes = text.size() - 1}) == "file_too_large");
    CHECK(code(text, {.max_memory = 5 * sizeof(json)}) == "file_too_large");
  }
  for (const std::string_view text : {"{}", "{\"a\":1}", "{ }", "{", "", "[i"}) CHECK_FALSE(rankd::is_ubjson(text));
  using namespace std::string_view_literals;
  CHECK(read("{i\1adA\0\0\0}"sv).value().at("a") == 8.0);
  CHECK(std::isnan(read("[d\x7f\xc0\0\0]"sv).value().at(0).get<double>()));
  CHECK(code("{i\1ai\1i\1ai\2}"sv) == "duplicate_field");
  CHECK(code("{i\1\xffi\1}"sv) == "invalid_utf8");
  CHECK(code("[Si\1\xff]"sv) == "invalid_utf8");
  CHECK(code(std::string(1001, '[')) == "json_too_deep");
  // A few bytes must not stand for more values than memory has room for.
  CHECK(code("[$Z#L\x0f\xff\xff\xff\xff\xff\xff\xff"sv, {.max_memory = 1 << 20}) == "file_too_large");
  CHECK(code("{i\1a?"sv) == "json_syntax");
  CHECK(read("{i\1a?"sv).error().front().message.starts_with("byte "));
}

TEST_CASE("a thousand levels are read") { CHECK(parse_json(nested(1000), "x").has_value()); }

TEST_CASE("each fault is named by its code and place") {
  for (const bad_document& bad : bad_documents)
    CHECK_MESSAGE(diagnostics(bad.text) == bad.diagnostics, bad.text.substr(0, 60));
}

TEST_CASE("a syntax error names line and column and nothing of the library") {
  CHECK(message("{\n  \"a\": 1,\n  b\n}").starts_with("line 3, column 3: syntax error while parsing object key"));
  CHECK(message("[1, \xFF]") == "line 1, column 5: the bytes from this position on are not UTF-8");
  CHECK(message("").starts_with("line 1, column 1: "));
  CHECK(parse_json("[\n1,]", "x", 7).error().front().message.starts_with("line 8, column 3: "));
  CHECK(parse_json("\xFF", "x", 7).error().front().message.starts_with("line 7, column 1: "));
  CHECK(message("\"" + std::string(1'000'000, 'a')).size() < 300);
}

TEST_CASE("a document of nothing but duplicates costs a bounded number of diagnostics") {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 100'000; ++i) text += ",\"a\":0";
  CHECK(diagnostics(text + "}").size() == 100);
}

TEST_CASE("a file is read, and its name is the source of diagnostics") {
  const braid::testing::scratch_folder folder;
  CHECK(rankd::read_json_file(folder.write("good.json", "[1]")) == json::parse("[1]"));
  const auto file = folder.write("bad.json", "[");
  const auto refused = rankd::read_json_file(file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().source == file.string());
  CHECK(rankd::read_json_file(folder.path() / "absent").error().front().code == "unreadable_file");
}
