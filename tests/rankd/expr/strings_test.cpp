// tests/rankd/expr/strings_test.cpp: expressions that give strings, against a naive interpreter, and their edges.
#include <rankd/expr/detail/hash_functions.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/rows/column_builder.hpp>
#include <tests/rankd/expr/expr_world.hpp>
#include <tests/rankd/expr/naive.hpp>
#include <tests/rankd/expr/random_trees.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

auto parsed(const json& tree) -> expr_tree { return parse_expr(tree, "").value(); }
auto program_of(const json& tree) -> expr_program { return compile_expr(parsed(tree), world()).value(); }

auto text(std::string value) -> json { return {{"op", "const_text"}, {"value", std::move(value)}}; }
auto key(std::uint32_t number) -> json { return {{"op", "key_ref"}, {"key_id", number}}; }
auto joined(json a, json b) -> json { return {{"op", "concat"}, {"a", std::move(a)}, {"b", std::move(b)}}; }
auto length(json x) -> json { return {{"op", "length"}, {"x", std::move(x)}}; }

auto with_pattern(std::optional<std::string> pattern) -> std::vector<scalar> {
  std::vector<scalar> out(world().params().size());
  if (pattern) out[world().index_of(*world().find_param(2))] = std::move(*pattern);
  return out;
}

/// The number that an expression gives for a row with this string; nothing for null.
auto number_of(const json& tree, const std::string& title) -> std::optional<double> {
  braid::arena memory;
  const std::vector<std::int64_t> ids{1};
  column_builder<std::string_view> titles(memory, 1);
  titles.push(title);
  const batch table = batch(ids).with_column(text_key, titles.finish(), memory);
  const column found = evaluate(program_of(tree), row_set(table), with_pattern({}), memory).value();
  return found.is_null(0) ? std::nullopt : std::optional((*found.floats())[0]);
}

/// The codes of all diagnostics, with their pointers.
auto refusals(const json& tree) -> std::vector<std::string> {
  const auto made = compile_expr(parsed(tree), world());
  std::vector<std::string> out;
  if (made) return out;
  for (const braid::diagnostic& each : made.error()) out.push_back(each.code + " " + each.pointer);
  return out;
}

}  // namespace

TEST_CASE("an expression of strings gives a column of them, the same as the interpreter") {
  std::size_t strings = 0;
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(400); ++seed) {
    CAPTURE(seed);
    braid::arena memory;
    random_rows random(seed, memory);
    const json tree = random_trees(seed).string(seed % 5);
    CAPTURE(tree.dump());
    const expr_program code = program_of(tree);
    REQUIRE(code.gives_strings());
    const row_set rows = random.set(random.below(1200));
    const auto params = with_pattern(seed % 3 == 0 ? std::nullopt : std::optional<std::string>("[Uu]"));
    if (params[world().index_of(*world().find_param(2))].index() == 0 && tree.dump().contains("regex")) continue;
    const column found = evaluate_strings(code, rows, params, memory).value();
    REQUIRE(found.strings() != nullptr);
    std::vector<std::optional<std::string>> expected(rows.table().size());
    rows.for_each_row([&](std::uint32_t row) {
      expected[row] = naive_string(tree, {testing::row_of(rows.table(), row), world(), params});
    });
    REQUIRE(found.size() == expected.size());
    bool same = true;
    for (std::size_t row = 0; row < expected.size(); ++row) {
      same =
          same && found.is_null(row) == !expected[row] && (!expected[row] || (*found.strings())[row] == *expected[row]);
      strings += expected[row] ? 1 : 0;
    }
    CHECK(same);
  }
  CHECK(strings > 10'000);
}

TEST_CASE("length counts code points, and each byte that begins none where a string is no UTF-8") {
  CHECK(number_of(length(key(text_key)), "") == 0);
  CHECK(number_of(length(key(text_key)), "caf\xc3\xa9") == 4);
  CHECK(number_of(length(key(text_key)), "\xf0\x9f\x98\x80") == 1);  // one code point, two units of UTF-16
  CHECK(number_of(length(key(text_key)), "e\xcc\x81") == 2);         // what looks like one letter may be two
  CHECK(number_of(length(key(text_key)), "\xff\x80\xfe") == 2);
  CHECK(number_of(length(joined(key(text_key), text("\xe2\x82\xac!"))), "ab") == 4);
  CHECK_FALSE(number_of(length(key(other_text_key)), "ab").has_value());
}

TEST_CASE("a string that would be longer than 64 KiB is null") {
  const std::string half(32'768, 'x');
  CHECK(number_of(length(joined(key(text_key), text(half))), half) == 65'536);
  CHECK_FALSE(number_of(length(joined(joined(key(text_key), text(half)), text("x"))), half).has_value());
}

TEST_CASE("the bucket of a string is that of its FNV-1a, and the same everywhere") {
  const json bucket = {{"op", "bucket_text"}, {"x", key(text_key)}, {"count", 1000}, {"seed", "layout"}};
  const auto hashed = static_cast<std::int64_t>(rankd::detail::hash_of("caf\xc3\xa9"));
  const std::uint64_t drawn = rankd::detail::make_draw(rankd::detail::hash_of("layout"), hashed);
  CHECK(number_of(bucket, "caf\xc3\xa9") == static_cast<double>(drawn % 1000));
  // The same numbers stand in dsl/test/meaning.test.ts and in tests/oracle/test_oracle.py.
  CHECK(number_of(bucket, "US") == 711);
  CHECK(number_of(bucket, "") == 313);
  CHECK(number_of(bucket, "caf\xc3\xa9") == 606);
}

TEST_CASE("strings where numbers are wanted, and the reverse, are refused with their places") {
  using list = std::vector<std::string>;
  const json number = {{"op", "const_number"}, {"value", 1}};
  CHECK(refusals(json{{"op", "add"}, {"a", text("x")}, {"b", joined(key(text_key), text("y"))}}) ==
        list{"string_in_arithmetic /a", "string_in_arithmetic /b"});
  CHECK(refusals(joined(key(text_key), number)) == list{"text_wants_string /b"});
  CHECK(refusals(length(key(int_key))) == list{"text_wants_string /x"});
  CHECK(refusals(length(json{{"op", "coalesce"}, {"a", key(text_key)}, {"b", key(int_key)}})) ==
        list{"text_wants_string /x/b"});
  CHECK(refusals(json{{"op", "coalesce"}, {"a", text("x")}, {"b", number}}) == list{"string_in_arithmetic /a"});
  CHECK(refusals(json{{"op", "bucket"}, {"x", joined(text("x"), text("y"))}, {"count", 3}}) ==
        list{"bucket_wants_integer /x"});
  const auto truth =
      compile_pred(parse_pred(json{{"op", "is_null"}, {"x", joined(key(text_key), text("y"))}}, "/p").value(), world());
  REQUIRE_FALSE(truth.has_value());
  CHECK(truth.error().front().code == "string_in_arithmetic");
}

TEST_CASE("a key of strings can be taken for numbers, which are null, as before") {
  const expr_program plain = program_of(key(text_key));
  CHECK(plain.gives_numbers());
  CHECK(plain.gives_strings());
  CHECK(plain.gives_integers());
  const expr_program both = program_of(joined(key(text_key), text("x")));
  CHECK_FALSE(both.gives_numbers());
  CHECK_FALSE(both.gives_integers());
  CHECK_FALSE(program_of(length(key(text_key))).gives_strings());
  CHECK(program_of(length(key(text_key))).gives_integers());
}
