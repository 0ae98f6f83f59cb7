// tests/rankd/op/decode_test.cpp: values and ids out of texts that hold several: JSON, packed numbers, base64.
#include <rankd/op/operator.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::uint32_t title = 3002;
using texts = std::vector<std::optional<std::string_view>>;

/// Returns the value of each row, "-" for a null.
auto shown(const row_set& rows, std::uint32_t key) -> std::string {
  const column values = rows.table().find(key).value();
  std::string out;
  rows.for_each_row([&](std::uint32_t row) {
    out += out.empty() ? "" : " ";
    if (values.is_null(row))
      out += "-";
    else if (values.floats() != nullptr)
      out += std::to_string((*values.floats())[row]);
    else if (values.integers() != nullptr)
      out += std::to_string((*values.integers())[row]);
    else if (values.booleans() != nullptr)
      out += (*values.booleans())[row] ? "true" : "false";
    else if (values.strings()->dimensions != 0)
      append_vector_json(out, (*values.strings())[row]);
    else
      out += (*values.strings())[row];
  });
  return out;
}

struct decode_bench : op_bench {
  auto of_texts(const texts& all) -> row_set {
    std::vector<std::int64_t> ids;
    for (std::size_t at = 0; at < all.size(); ++at) ids.push_back(static_cast<std::int64_t>(at) + 1);
    return with<std::string_view>(row_set(batch(memory().copied(std::span<const std::int64_t>(ids)))), title, all);
  }

  /// The values under the first key that the options name.
  auto decoded(const texts& all, const std::string& options, std::uint32_t key) -> std::string {
    return shown(rows("core::decode", R"({"key":3002,)" + options + "}", {of_texts(all)}), key);
  }

  auto ids(const texts& all, const std::string& format, int count = 10) -> std::vector<std::int64_t> {
    return ids_of(rows("core::decode_ids",
                       R"({"key":3002,"format":")" + format + R"(","count":)" + std::to_string(count) + "}",
                       {of_texts(all)}));
  }
};

/// Returns the bytes of numbers, the lowest first.
template <typename T>
auto packed(std::initializer_list<T> numbers) -> std::string {
  static_assert(std::endian::native == std::endian::little);
  std::string out;
  for (const T& each : numbers) out.append(reinterpret_cast<const char*>(&each), sizeof(T));
  return out;
}

}  // namespace

TEST_CASE("members of JSON become columns of the types of their keys") {
  decode_bench bench;
  const texts all{R"({"score":0.5,"count":7,"fresh":true,"country":"DE","features":[1,0.5,-2,0]})", R"({"score":3})",
                  std::nullopt, R"({"country":"\u00e9"})"};
  const row_set made = bench.rows(
      "core::decode", R"({"key":3002,"format":"json","out_keys":[1001,1501,1502,3001,4001]})", {bench.of_texts(all)});
  CHECK(shown(made, 1001) == "0.500000 3.000000 - -");
  CHECK(shown(made, 1501) == "7 - - -");
  CHECK(shown(made, 1502) == "true - - -");
  CHECK(shown(made, 3001) == "DE - - é");
  CHECK(shown(made, 4001) == "[1,0.5,-2,0] - - -");
  CHECK(bench.malformed_values == 0);
  CHECK(shown(made, title) == shown(bench.of_texts(all), title));
}

TEST_CASE("members have other names, pointers reach deeper, and the empty pointer is the whole text") {
  decode_bench bench;
  const texts nested{R"({"a":{"b":[3,{"c/d":4}]},"":5,"score":6})"};
  const auto found = [&](const std::string& member) {
    return bench.decoded(nested, R"("format":"json","members":[")" + member + R"("],"out_keys":[1001])", 1001);
  };
  CHECK(found("score") == "6.000000");
  CHECK(found("/score") == "6.000000");
  CHECK(found("/") == "5.000000");
  CHECK(found("/a/b/0") == "3.000000");
  CHECK(found("/a/b/1/c~1d") == "4.000000");
  CHECK(found("b") == "-");
  CHECK(found("/a/b/2") == "-");
  CHECK(bench.malformed_values == 0);
  CHECK(bench.decoded({"[1,2,3,4]", "7"}, R"("format":"json","members":[""],"out_keys":[4001])", 4001) ==
        "[1,2,3,4] -");
  CHECK(bench.malformed_values == 1);
}

TEST_CASE("what is not a value of its key counts as missing, once for each text") {
  decode_bench bench;
  const texts all{R"({"count":1.5})",
                  R"({"count":"x"})",
                  R"({"count":[1]})",
                  R"({"count":null})",
                  "{",
                  "",
                  "[]",
                  R"({"count":"8"})",
                  R"({"count":3.0})",
                  "{"};
  CHECK(bench.decoded(all, R"("format":"json","out_keys":[1501])", 1501) == "- - - - - - - 8 3 -");
  CHECK(bench.malformed_values == 5);  // `{` once, though two rows have it
  CHECK(bench.decoded({R"({"features":[1,2,3]})", R"({"features":[1,2,3,"4"]})", R"({"features":[1,2,3,1e39]})"},
                      R"("format":"json","out_keys":[4001])", 4001) == "- - -");
  CHECK(bench.malformed_values == 3);
  // A key that is not nullable has its default.
  CHECK(bench.decoded({"{}"}, R"("format":"json","out_keys":[2001])", 2001) == "0.000000");
  CHECK(bench.decoded({R"({"country":[]})"}, R"("format":"json","out_keys":[3001])", 3001) == "-");
}

TEST_CASE("packed numbers of each width are vectors, plain and in both alphabets of base64") {
  decode_bench bench;
  const auto vector = [&](std::string_view text, const std::string& format) {
    return bench.decoded({text}, R"("format":")" + format + R"(","out_keys":[4002])", 4002);
  };
  CHECK(vector(packed<float>({1, -0.5F, 3}), "float32") == "[1,-0.5,3]");
  CHECK(vector(packed<double>({1, -0.5, 0.1}), "float64") == "[1,-0.5,0.1]");
  CHECK(vector(packed<std::int64_t>({1, -7, 1 << 20}), "int64") == "[1,-7,1048576]");
  CHECK(vector("AACAPwAAAL8AAEBA", "base64_float32") == "[1,-0.5,3]");
  CHECK(vector("AAAAAAAA8D8AAAAAAADgvwAAAAAAAAhA", "base64_float64") == "[1,-0.5,3]");
  CHECK(vector("AQAAAAAAAAD-_________wMAAAAAAAAA", "base64_int64") == "[1,-2,3]");
  CHECK(vector("AQAAAAAAAAD+/////////wMAAAAAAAAA", "base64_int64") == "[1,-2,3]");
  CHECK(bench.malformed_values == 0);
  for (const std::string_view wrong :
       {"AACAPwAAAL8AAEB", "AACAPwAAAL8AAEBA=", "AACAPwAAAL8AAEB*", "AACAPwAAAL8=", "A"}) {
    CAPTURE(wrong);
    CHECK(vector(wrong, "base64_float32") == "-");
    CHECK(bench.malformed_values == 1);
  }
  CHECK(vector(packed<float>({1, 2}), "float32") == "-");
  CHECK(vector(packed<double>({1, 2, 1e39}), "float64") == "-");
  const auto one = [&](std::string_view text) { return bench.ids({text}, "base64_int64"); };
  CHECK((one("BwAAAAAAAAA=") == std::vector<std::int64_t>{7}));  // with padding and without
  CHECK((one("BwAAAAAAAAA") == std::vector<std::int64_t>{7}));
  CHECK(one("BwAAAAAAAAB").empty());  // whose last bits belong to no byte
  CHECK(bench.malformed_ids == 1);
}

TEST_CASE("rows that are not active are not read") {
  decode_bench bench;
  const row_set rows = bench.of_texts({"[1]", "nonsense"}).take(1);
  CHECK((ids_of(bench.rows("core::decode_ids", R"({"key":3002,"format":"json","count":9})", {rows})) ==
         std::vector<std::int64_t>{1}));
  CHECK(bench.malformed_ids == 0);
  CHECK(shown(bench.rows("core::decode", R"({"key":3002,"format":"json","members":["/0"],"out_keys":[1501]})", {rows}),
              1501) == "1");
  CHECK(bench.malformed_values == 0);
}

TEST_CASE("what a node cannot decode is refused when the plan is loaded") {
  const std::string at = "/nodes/2/params";
  const auto said = [](const std::string& options) { return diagnostics("core::decode", "{" + options + "}"); };
  CHECK(said(R"("key":3002,"format":"json","out_keys":[1001])").empty());
  CHECK((said(R"("key":1501,"format":"json","out_keys":[1001])") == lines{"wrong_key_type " + at + "/key"}));
  CHECK((said(R"("key":3002,"format":"json","members":["a"],"out_keys":[1001,1501])") ==
         lines{"wrong_length " + at + "/members"}));
  CHECK((said(R"("key":3002,"format":"float32","out_keys":[1001])") == lines{"wrong_key_type " + at + "/out_keys/0"}));
  CHECK(
      (said(R"("key":3002,"format":"float32","out_keys":[4001,4002])") == lines{"too_many_items " + at + "/out_keys"}));
  CHECK((said(R"("key":3002,"format":"json","out_keys":[5003])") == lines{"unwritable_key " + at + "/out_keys/0"}));
  CHECK(diagnostics("core::decode_ids", R"({"key":3002,"format":"int64","count":1})").empty());
  CHECK((diagnostics("core::decode_ids", R"({"key":1501,"format":"int64","count":1})") ==
         lines{"wrong_key_type " + at + "/key"}));
}
