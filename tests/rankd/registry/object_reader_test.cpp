// tests/rankd/registry/object_reader_test.cpp: fields and the diagnostics about them.
#include <rankd/registry/object_reader.hpp>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

/// "code pointer" of each diagnostic.
auto list(const braid::diagnostics& problems) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& item : problems) out.push_back(item.code + " " + item.pointer);
  return out;
}

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("fields of the right type are read") {
  const json value = json::parse(R"({"s":"x","i":-3,"u":4294967295,"b":true,"a":[1],"o":{},"f":0.5,"c":"two"})");
  braid::diagnostics problems;
  object_reader in(value, "/top", problems);
  CHECK(*in.text("s", presence::required) == "x");
  CHECK(in.integer("i", presence::required) == -3);
  CHECK(in.id("u", presence::required) == 4294967295U);
  CHECK(in.boolean("b", presence::required) == true);
  CHECK(in.array("a", presence::required)->size() == 1);
  CHECK(in.object("o", presence::required)->empty());
  CHECK(in.typed("f", presence::required, value_type::floating) == scalar(0.5));
  CHECK(in.choice("c", presence::required, std::array<std::string_view, 2>{"one", "two"}) == 1U);
  in.refuse_unknown_fields();
  CHECK(problems.empty());
}

TEST_CASE("an absent field is missed only where it is required") {
  const json value = json::object();
  braid::diagnostics problems;
  object_reader in(value, "/top", problems);
  CHECK(in.text("a", presence::required) == nullptr);
  CHECK(in.text("b", presence::optional) == nullptr);
  CHECK(in.text("c", presence::nullable) == nullptr);
  CHECK(list(problems) == lines{"missing_field /top"});
}

TEST_CASE("null stands for absence only where the field is nullable") {
  const json value = {{"a", nullptr}, {"b", nullptr}, {"c", nullptr}};
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  in.text("a", presence::required);
  in.text("b", presence::optional);
  in.text("c", presence::nullable);
  CHECK(list(problems) == lines{"wrong_type /a", "wrong_type /b"});
}

TEST_CASE("nothing that merely converts to an integer is one") {
  const json value = json::parse(R"({"a":1.0,"b":1.5,"c":"1","d":true,"e":9223372036854775808,"f":4294967301,"g":0})");
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  for (const char* field : {"a", "b", "c", "d", "e"}) CHECK_FALSE(in.integer(field, presence::required));
  for (const char* field : {"f", "g"}) CHECK_FALSE(in.id(field, presence::required));
  CHECK(list(problems) == lines{"wrong_type /a", "wrong_type /b", "wrong_type /c", "wrong_type /d", "out_of_range /e",
                                "out_of_range /f", "out_of_range /g"});
}

TEST_CASE("an unknown field gets a hint from those that are known") {
  const json value = {{"nmae", 1}, {"a/b", 2}};
  braid::diagnostics problems;
  object_reader in(value, "/x", problems);
  in.value("name", presence::optional);
  in.refuse_unknown_fields();
  CHECK(list(problems) == lines{"unknown_field /x/a~1b", "unknown_field /x/nmae"});
  CHECK(problems.begin()[1].hint == "did you mean `name`?");
}

TEST_CASE("a document of nothing but unknown fields costs a bounded number of diagnostics") {
  json value = json::object();
  for (int i = 0; i < 5000; ++i) value[std::to_string(i)] = 1;
  braid::diagnostics problems;
  object_reader(value, "", problems).refuse_unknown_fields();
  CHECK(problems.size() == 100);
}

TEST_CASE("what is no object is refused once") {
  const json value = json::array();
  braid::diagnostics problems;
  object_reader in(value, "/x", problems);
  in.text("a", presence::required);
  in.refuse_unknown_fields();
  CHECK(list(problems) == lines{"wrong_type /x"});
}

TEST_CASE("a string that is no choice lists the choices and the likely one") {
  const json value = {{"kind", "rediss"}};
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  CHECK_FALSE(in.choice("kind", presence::required, std::array<std::string_view, 2>{"redis", "http"}));
  CHECK(list(problems) == lines{"bad_value /kind"});
  CHECK(problems.front().message == "`kind` is `rediss`; expected one of: redis, http");
  CHECK(problems.front().hint == "did you mean `redis`?");
}

TEST_CASE("an empty name among the choices is shown, and the value that is none of them") {
  const json value = {{"flags", "g"}};
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  CHECK_FALSE(in.choice("flags", presence::required, std::array<std::string_view, 2>{"", "i"}));
  CHECK(problems.front().message == "`flags` is `g`; expected one of: \"\", i");
}

TEST_CASE("a diagnostic about a value shows the value, and of a long one its beginning") {
  CHECK(described(json("7")) == "a string: `\"7\"`");
  CHECK(described(json("a\n\"\u00e9")) == "a string: `\"a\\n\\\"\u00e9\"`");
  CHECK(described(json(std::string(79, 'x') + "\u00e9 and more")) == "a string: `\"" + std::string(79, 'x') + "\"…`");
  CHECK(described(json(7)) == "an integer: `7`");
  CHECK(described(json(-0.5)) == "a fraction: `-0.5`");
  CHECK(described(json(true)) == "a boolean: `true`");
  CHECK(described(json()) == "null");
  CHECK(described(json::array({1, 2})) == "an array");
  const json value = {{"count", 0}, {"name", 3}, {"ratio", "0.5"}, {"large", 18446744073709551615U}};
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  in.integer("count", presence::required, {.min = 1, .max = 10});
  in.text("name", presence::required);
  in.typed("ratio", presence::required, value_type::floating);
  in.typed("large", presence::required, value_type::integer);
  std::vector<std::string> messages;
  for (const auto& each : problems) messages.push_back(each.message);
  CHECK((messages == std::vector<std::string>{
                         "`count` must lie between 1 and 10, not `0`", "`name` must be a string, not an integer: `3`",
                         "`ratio` must be a number, not a string: `\"0.5\"`",
                         "`large` must be at most 9223372036854775807, not `18446744073709551615`"}));
}

TEST_CASE("a diagnostic shows numbers that JSON cannot express as the file has them") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(described(json(std::nan(""))) == "a number that is not finite: `NaN`");
  CHECK(described(json(-infinite)) == "a number that is not finite: `-Infinity`");
  CHECK(described(json(-0.0)) == "a fraction: `-0.0`");
  CHECK(described(json(1e22)) == "a number beyond 64 bits: `1e+22`");
  const json value = {{"count", infinite}, {"depth", std::nan("")}, {"weight", -infinite}, {"whole", -infinite}};
  braid::diagnostics problems;
  object_reader in(value, "", problems);
  in.integer("count", presence::required, {.min = 1, .max = 10});
  in.integer("depth", presence::required);
  in.typed("weight", presence::required, value_type::floating);
  in.typed("whole", presence::required, value_type::integer);
  std::vector<std::string> messages;
  for (const auto& each : problems) messages.push_back(each.message);
  CHECK((messages == std::vector<std::string>{"`count` must lie between 1 and 10, not `Infinity`",
                                              "`depth` must be an integer, not a number that is not finite: `NaN`",
                                              "`weight` must be finite, not `-Infinity`",
                                              "`whole` must be an integer of 64 bits, not `-Infinity`"}));
}

TEST_CASE("a scalar is read by its type and nothing is rounded") {
  CHECK(scalar_from_json(json(3), value_type::floating) == scalar(3.0));
  CHECK(scalar_from_json(json(std::int64_t{1} << 53), value_type::floating) == scalar(9007199254740992.0));
  CHECK(scalar_from_json(json((std::int64_t{1} << 53) + 1), value_type::floating).error().code == "out_of_range");
  CHECK(scalar_from_json(json((std::int64_t{1} << 53) + 2), value_type::floating) == scalar(9007199254740994.0));
  CHECK(scalar_from_json(json(std::uint64_t{1} << 63), value_type::floating) == scalar(0x1p63));
  CHECK(scalar_from_json(json(std::numeric_limits<std::int64_t>::min()), value_type::floating) == scalar(-0x1p63));
  CHECK(scalar_from_json(json(~std::uint64_t{0}), value_type::floating).error().code == "out_of_range");
  CHECK(scalar_from_json(json(1e308 * 10), value_type::floating).error().code == "non_finite_number");
  CHECK(scalar_from_json(json(1.0), value_type::integer).error().code == "wrong_type");
  CHECK(scalar_from_json(json("x"), value_type::string) == scalar(std::string("x")));
  CHECK(scalar_from_json(json(1), value_type::boolean).error().code == "wrong_type");
  CHECK(scalar_from_json(json("x"), value_type::vector).error().code == "wrong_type");
}

TEST_CASE("messages call every kind of value by its name") {
  CHECK(kind_of(json()) == "null");
  CHECK(kind_of(json(1)) == "an integer");
  CHECK(kind_of(json(1.5)) == "a fraction");
  CHECK(kind_of(json("")) == "a string");
  CHECK(kind_of(json(true)) == "a boolean");
  CHECK(kind_of(json::array()) == "an array");
  CHECK(kind_of(json::object()) == "an object");
}
