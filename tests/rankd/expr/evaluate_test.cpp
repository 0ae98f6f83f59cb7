// tests/rankd/expr/evaluate_test.cpp: programs against a naive interpreter, and the edges of their semantics.
#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/registry/text_pattern.hpp>
#include <rankd/rows/column_builder.hpp>
#include <tests/rankd/expr/expr_world.hpp>
#include <tests/rankd/expr/naive.hpp>
#include <tests/rankd/expr/random_trees.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

/// How often a pattern was asked about a text, by any thread. The linker leads the calls here: see
/// tests/CMakeLists.txt.
std::atomic<std::size_t> matches_asked{0};

auto expression(const json& tree) -> expr_program {
  return compile_expr(parse_expr(tree, "").value(), world()).value();
}

auto predicate(const json& tree) -> pred_program {
  return compile_pred(parse_pred(tree, "/p").value(), world()).value();
}

/// Values of params in the order of the registries.
struct param_values {
  std::vector<scalar> values = std::vector<scalar>(world().params().size());

  auto set(std::uint32_t id, scalar value) -> param_values& {
    values[world().index_of(*world().find_param(id))] = std::move(value);
    return *this;
  }
};

auto random_params(std::uint64_t seed) -> param_values {
  braid::random_source random(seed);
  param_values out;
  out.set(2, std::string("[Uu]"));
  if (random.below(2) == 0) out.set(1, 0.5);
  if (random.below(2) == 0) out.set(3, 0x1p53);
  if (random.below(2) == 0) out.set(4, two_to_53 + 1);
  if (random.below(2) == 0) out.set(5, true);
  return out;
}

/// The same bits, or both no number at all.
auto same(double a, double b) -> bool {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

/// True where `found` has the naive value on each active row, and null, with a zero below it, on all others.
auto agrees(const json& tree, const row_set& rows, const param_values& params, const column& found) -> bool {
  std::vector<naive_number> expected(rows.table().size());
  rows.for_each_row([&](std::uint32_t row) {
    expected[row] = naive_value(tree, {testing::row_of(rows.table(), row), world(), params.values});
  });
  const std::span<const double> values = *found.floats();
  for (std::size_t row = 0; row < expected.size(); ++row) {
    if (found.is_null(row) != !expected[row]) return false;
    if (!same(values[row], expected[row] ? testing::as_double(expected[row]) : 0.0)) return false;
  }
  return values.size() == expected.size();
}

auto agrees(const json& tree, const row_set& rows, const param_values& params, bitmap found) -> bool {
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const model_row row = testing::row_of(rows.table(), rows.row(at));
    if (found[at] != naive_truth(tree, {row, world(), params.values})) return false;
  }
  return true;
}

const json id = {{"op", "key_ref"}, {"key_id", 1}};

auto key(std::uint32_t number) -> json { return {{"op", "key_ref"}, {"key_id", number}}; }
auto param(std::uint32_t number) -> json { return {{"op", "param_ref"}, {"param_id", number}}; }
auto literal(const json& value) -> json { return {{"op", "const_number"}, {"value", value}}; }
const json null = {{"op", "const_null"}};
auto op(const char* name, const json& a, const json& b) -> json { return {{"op", name}, {"a", a}, {"b", b}}; }
auto of(const char* name, const json& x) -> json { return {{"op", name}, {"x", x}}; }
auto clamp(const json& x, const json& lo, const json& hi) -> json {
  return {{"op", "clamp"}, {"x", x}, {"lo", lo}, {"hi", hi}};
}
auto either(const json& pred, const json& a, const json& b) -> json {
  return {{"op", "if"}, {"pred", pred}, {"a", a}, {"b", b}};
}
auto cmp(const char* how, const json& a, const json& b) -> json {
  return {{"op", "cmp"}, {"cmp", how}, {"a", a}, {"b", b}};
}
auto param_regex() -> json {
  return {{"op", "regex"}, {"key_id", text_key}, {"pattern", {{"kind", "param"}, {"param_id", 2}}}, {"flags", ""}};
}

/// The positions at which a predicate holds on rows with these ids.
auto holds_for(const json& tree, const std::vector<std::int64_t>& ids) -> std::vector<bool> {
  braid::arena memory;
  const row_set rows{batch(ids)};
  const bitmap found = evaluate(predicate(tree), rows, param_values().values, memory).value();
  std::vector<bool> out;
  for (std::size_t i = 0; i < ids.size(); ++i) out.push_back(found[i]);
  return out;
}

/// The value of an expression on a single row with this id; nothing for null.
auto value_for(const json& tree, std::int64_t of, const param_values& params = {}) -> std::optional<double> {
  braid::arena memory;
  const std::vector<std::int64_t> ids{of};
  const column found = evaluate(expression(tree), row_set(batch(ids)), params.values, memory).value();
  return found.is_null(0) ? std::nullopt : std::optional((*found.floats())[0]);
}

/// Calls `check()` once with each set of vector instructions that the machine has.
template <typename Check>
void with_all_instructions(Check&& check) {
  for (const std::string_view name : rankd::detail::kernel_instructions()) {
    CAPTURE(std::string(name));
    const rankd::detail::forced_instructions forced(name);
    check();
  }
}

using truths = std::vector<bool>;
constexpr std::int64_t i64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t i64_min = std::numeric_limits<std::int64_t>::min();

}  // namespace

// The linker calls the second where `rankd::text_pattern::matches` is called, and names that function as the first.
auto matches(const text_pattern* of, std::string_view text)
    -> bool asm("__real__ZNK5rankd12text_pattern7matchesESt17basic_string_viewIcSt11char_traitsIcEE");
auto counted_matches(const text_pattern* of, std::string_view text)
    -> bool asm("__wrap__ZNK5rankd12text_pattern7matchesESt17basic_string_viewIcSt11char_traitsIcEE");
auto counted_matches(const text_pattern* of, std::string_view text) -> bool {
  matches_asked.fetch_add(1);
  return matches(of, text);
}

TEST_CASE("expressions agree with a naive interpreter") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(600); ++seed) {
    CAPTURE(seed);
    braid::arena memory;
    random_rows random(seed, memory);
    const json tree = random_trees(seed).value(seed % 6);
    CAPTURE(tree.dump());
    const row_set rows = random.set(seed % 20 == 0 ? edge_sizes[seed / 20 % edge_sizes.size()] : random.below(70));
    const param_values params = random_params(seed);
    with_all_instructions([&] {
      const auto found = evaluate(expression(tree), rows, params.values, memory);
      REQUIRE(found.has_value());
      CHECK(agrees(tree, rows, params, *found));
    });
  }
}

TEST_CASE("predicates agree with a naive interpreter") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(1200); ++seed) {
    CAPTURE(seed);
    braid::arena memory;
    random_rows random(seed, memory);
    const json tree = random_trees(seed).truth(seed % 5);
    CAPTURE(tree.dump());
    const row_set rows = random.set(seed % 40 == 0 ? edge_sizes[seed / 40 % edge_sizes.size()] : random.below(70));
    const param_values params = random_params(seed);
    with_all_instructions([&] {
      const auto found = evaluate(predicate(tree), rows, params.values, memory);
      REQUIRE(found.has_value());
      CHECK(agrees(tree, rows, params, *found));
    });
  }
}

TEST_CASE("parts that run side by side give the same bits as one") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(1 + random.below(6000));
    const param_values params = random_params(seed);
    const expr_program value = expression(random_trees(seed).value(3));
    const pred_program truth = predicate(random_trees(seed).truth(3));
    const column values = evaluate(value, rows, params.values, memory).value();
    const bitmap truths = evaluate(truth, rows, params.values, memory).value();
    for (const std::size_t part : {0, 1, 600, 1024, 5000}) {
      CAPTURE(part);
      const column in_parts = evaluate(value, rows, params.values, memory, {.rows_of_part = part}).value();
      const bitmap bits = evaluate(truth, rows, params.values, memory, {.rows_of_part = part}).value();
      bool same_values = values.validity.all_set() == in_parts.validity.all_set();
      for (std::size_t row = 0; row < rows.table().size(); ++row)
        same_values = same_values && values.is_null(row) == in_parts.is_null(row) &&
                      same((*values.floats())[row], (*in_parts.floats())[row]);
      CHECK(same_values);
      bool same_truths = true;
      for (std::size_t at = 0; at < rows.size(); ++at) same_truths = same_truths && truths[at] == bits[at];
      CHECK(same_truths);
    }
  }
}

TEST_CASE("blocks and words have no seams, whatever the number of rows and their order") {
  const json tree = op("add", op("mul", id, literal(0.5)), op("coalesce", key(float_key), key(int_key)));
  const json test = cmp("<", key(float_key), key(full_float_key));
  for (const std::size_t size : edge_sizes) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(size);
      braid::arena memory;
      const row_set rows = random_rows(seed, memory).set(size);
      CHECK(agrees(tree, rows, {}, evaluate(expression(tree), rows, param_values().values, memory).value()));
      CHECK(agrees(test, rows, {}, evaluate(predicate(test), rows, param_values().values, memory).value()));
    }
  }
}

TEST_CASE("a column without nulls on all rows has no bitmap") {
  braid::arena memory;
  const std::vector<std::int64_t> ids(100, 3);
  const row_set rows{batch(ids)};
  const expr_program twice = expression(op("mul", id, literal(2)));
  CHECK(evaluate(twice, rows, {}, memory)->validity.all_set());
  CHECK(evaluate(twice, rows.take(99), {}, memory)->is_null(99));
}

TEST_CASE("comparisons of ids with integers are exact beyond 2^53") {
  const std::vector<std::int64_t> ids{two_to_53 - 1, two_to_53, two_to_53 + 1, i64_max, i64_min};
  CHECK(holds_for(cmp("==", id, literal(two_to_53 + 1)), ids) == truths{false, false, true, false, false});
  CHECK(holds_for(cmp("<", id, literal(two_to_53 + 1)), ids) == truths{true, true, false, false, true});
  CHECK(holds_for(cmp(">=", literal(two_to_53), id), ids) == truths{true, true, false, false, true});
  CHECK(holds_for(cmp("!=", id, literal(i64_max)), ids) == truths{true, true, true, false, true});
}

TEST_CASE("comparisons of ids with doubles do not round the id") {
  const std::vector<std::int64_t> ids{two_to_53, two_to_53 + 1, i64_max, i64_min, i64_min + 1};
  CHECK(holds_for(cmp("==", id, literal(0x1p53)), ids) == truths{true, false, false, false, false});
  CHECK(holds_for(cmp(">", id, literal(0x1p53)), ids) == truths{false, true, true, false, false});
  CHECK(holds_for(cmp("<", id, literal(0x1p63)), ids) == truths{true, true, true, true, true});
  CHECK(holds_for(cmp("==", literal(-0x1p63), id), ids) == truths{false, false, false, true, false});
  CHECK(holds_for(cmp("<", literal(-0x1p63), id), ids) == truths{true, true, true, false, true});
}

TEST_CASE("a list matches exactly the numbers that it names") {
  const std::vector<std::int64_t> ids{5, two_to_53, two_to_53 + 1, i64_max};
  const json list = {5.0, 5.5, two_to_53 + 1, 0x1p63, 1e300};
  CHECK(holds_for({{"op", "in"}, {"lhs", id}, {"list", list}}, ids) == truths{true, false, true, false});
  CHECK(holds_for({{"op", "in"}, {"lhs", op("add", id, literal(0))}, {"list", {two_to_53 + 1, two_to_53}}}, ids) ==
        truths{false, true, true, false});
  CHECK(holds_for({{"op", "in"}, {"lhs", id}, {"list", json::array()}}, ids) == truths(4, false));
}

TEST_CASE("arithmetic is done in doubles, that of integers too") {
  CHECK(value_for(op("add", id, literal(1)), i64_max) == 0x1p63);
  CHECK(value_for(op("sub", id, literal(1)), two_to_53 + 1) == 0x1p53 - 1);
  CHECK(value_for({{"op", "neg"}, {"x", id}}, i64_min) == 0x1p63);
  CHECK(value_for(op("mul", literal(i64_max), literal(i64_max)), 0) == 0x1p126);
}

TEST_CASE("overflow gives what IEEE 754 says, and no comparison holds for what is no number") {
  const json huge = op("mul", literal(1e308), literal(10));
  const json no_number = op("sub", huge, huge);
  CHECK(value_for(huge, 0) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(value_for(no_number, 0).value()));
  CHECK(value_for(op("mul", id, huge), -1) == -std::numeric_limits<double>::infinity());
  for (const char* how : {"==", "!=", "<", "<=", ">", ">="}) {
    CHECK(holds_for(cmp(how, no_number, id), {1}) == truths{false});
    CHECK(holds_for(cmp(how, no_number, no_number), {1}) == truths{false});
  }
  json many = json::array();
  for (int i = 0; i < 40; ++i) many.push_back(i + 0.5);
  CHECK(holds_for({{"op", "in"}, {"lhs", op("add", no_number, op("mul", id, literal(0)))}, {"list", many}}, {1}) ==
        truths{false});
}

TEST_CASE("further arithmetic is done in doubles, and what is no finite number is null") {
  CHECK(value_for(op("div", id, literal(2)), 1) == 0.5);
  CHECK_FALSE(value_for(op("div", id, literal(0)), 1).has_value());
  CHECK_FALSE(value_for(op("div", literal(0), op("sub", id, id)), 1).has_value());
  CHECK(value_for(op("div", id, literal(1)), i64_max) == 0x1p63);
  CHECK(value_for(of("abs", id), i64_min) == 0x1p63);
  CHECK(value_for(op("min", id, literal(two_to_53)), two_to_53 + 1) == 0x1p53);
  CHECK(same(value_for(of("ceil", op("mul", id, literal(0.25))), -1).value(), -0.0));
  CHECK(value_for(of("floor", op("mul", id, literal(0.25))), -1) == -1.0);
  CHECK(value_for(of("sqrt", id), 9) == 3.0);
  CHECK_FALSE(value_for(of("sqrt", id), -1).has_value());
  CHECK(value_for(of("exp", id), 0) == 1.0);
  CHECK_FALSE(value_for(of("exp", id), 710).has_value());
  CHECK(value_for(of("exp", id), -1000) == 0.0);
  for (const std::int64_t not_positive : {0, -1}) CHECK_FALSE(value_for(of("log", id), not_positive).has_value());
  CHECK(value_for(of("log1p", id), 0) == 0.0);
  CHECK_FALSE(value_for(of("log1p", id), -1).has_value());
  CHECK(value_for(op("pow", id, literal(0.5)), 16) == 4.0);
  CHECK_FALSE(value_for(op("pow", id, literal(0.5)), -16).has_value());
  CHECK_FALSE(value_for(op("pow", id, literal(-1)), 0).has_value());
  CHECK(value_for(op("pow", literal(0), id), 0) == 1.0);
}

TEST_CASE("further arithmetic of what is no finite number") {
  const json huge = op("mul", id, literal(1e308));
  const json infinite = op("mul", huge, literal(10));
  const json no_number = op("sub", infinite, infinite);
  for (const char* name : {"div", "min", "max", "pow"}) {
    CHECK_FALSE(value_for(op(name, no_number, literal(1)), 1).has_value());
    CHECK_FALSE(value_for(op(name, literal(1), no_number), 1).has_value());
  }
  CHECK(value_for(op("min", infinite, literal(1)), 1) == 1.0);
  CHECK_FALSE(value_for(op("max", infinite, literal(1)), 1).has_value());
  CHECK(value_for(op("div", literal(1), infinite), 1) == 0.0);
  CHECK_FALSE(value_for(of("abs", infinite), 1).has_value());
  CHECK_FALSE(value_for(of("floor", no_number), 1).has_value());
  CHECK(value_for(clamp(infinite, literal(0), literal(5)), 1) == 5.0);
  CHECK_FALSE(value_for(clamp(no_number, literal(0), literal(5)), 1).has_value());
  CHECK_FALSE(value_for(op("div", huge, literal(0.01)), 1).has_value());
}

TEST_CASE("a clamp stays between its ends, which may be of the row, and is null where they cross") {
  CHECK(value_for(clamp(id, literal(2), literal(4)), 1) == 2.0);
  CHECK(value_for(clamp(id, literal(2), literal(4)), 3) == 3.0);
  CHECK(value_for(clamp(literal(10), literal(2), id), 7) == 7.0);
  CHECK_FALSE(value_for(clamp(id, literal(4), literal(2)), 3).has_value());
  CHECK_FALSE(value_for(clamp(id, null, literal(2)), 3).has_value());
  CHECK_FALSE(value_for(clamp(key(absent_key), literal(2), literal(2)), 3).has_value());
}

TEST_CASE("a choice by a predicate is null only where what it chose is, and keeps ids exact") {
  const json small = cmp("<", id, literal(10));
  CHECK(value_for(either(small, literal(1), null), 1) == 1.0);
  CHECK_FALSE(value_for(either(small, literal(1), null), 11).has_value());
  CHECK_FALSE(value_for(either(small, key(absent_key), id), 1).has_value());
  CHECK(value_for(either(cmp("<", null, id), literal(1), literal(2)), 1) == 2.0);
  CHECK(value_for(either({{"op", "const_bool"}, {"value", true}}, literal(1), literal(2)), 1) == 1.0);
  const std::vector<std::int64_t> ids{two_to_53, two_to_53 + 1};
  const json exact = either({{"op", "not"}, {"x", small}}, id, literal(0));
  CHECK(holds_for(cmp("==", exact, literal(two_to_53 + 1)), ids) == truths{false, true});
  const json rounded = either({{"op", "not"}, {"x", small}}, id, literal(0.0));
  CHECK(holds_for(cmp("==", rounded, literal(two_to_53)), ids) == truths{true, true});
}

TEST_CASE("further arithmetic has no seams between words and blocks, in any order and in parts") {
  const json ratio = op("div", key(float_key), op("sub", key(int_key), literal(1)));
  const json tree =
      either(cmp("<", key(float_key), key(full_float_key)), clamp(ratio, literal(-2), key(full_float_key)),
             op("max", of("log", key(full_float_key)), of("sqrt", key(int_key))));
  for (std::size_t size = 0; size <= 130; ++size) {
    CAPTURE(size);
    braid::arena memory;
    const row_set rows = random_rows(size, memory).set(size);
    with_all_instructions([&] {
      CHECK(agrees(tree, rows, {}, evaluate(expression(tree), rows, param_values().values, memory).value()));
    });
  }
}

TEST_CASE("a pattern of a predicate within an expression is an error wherever it stands") {
  braid::arena memory;
  const json choice = either(param_regex(), literal(1), literal(2));
  const json unused = op("coalesce", literal(5), choice);
  const json compared = either(cmp("<", choice, null), literal(1), literal(2));
  for (const json& tree : {choice, unused, compared}) {
    const auto unset = evaluate(expression(tree), row_set(), param_values().values, memory);
    REQUIRE_FALSE(unset.has_value());
    CHECK(unset.error().code == "regex_pattern_null");
    const auto set = param_values().set(2, std::string("x"));
    CHECK(evaluate(expression(tree), row_set(), set.values, memory).has_value());
  }
}

TEST_CASE("null swallows arithmetic and gives way in coalesce") {
  CHECK_FALSE(value_for(op("add", id, null), 1).has_value());
  CHECK_FALSE(value_for(op("mul", key(absent_key), literal(0)), 1).has_value());
  CHECK(value_for(op("coalesce", null, id), 7) == 7.0);
  CHECK(value_for(op("coalesce", key(absent_key), literal(2.5)), 7) == 2.5);
  CHECK(value_for(op("coalesce", literal(3), key(absent_key)), 7) == 3.0);
  CHECK_FALSE(value_for(op("coalesce", null, key(absent_key)), 7).has_value());
  CHECK_FALSE(value_for(null, 7).has_value());
}

TEST_CASE("params are null until they have a value, and ints, bools and floats are numbers") {
  CHECK_FALSE(value_for(param(3), 1).has_value());
  CHECK(value_for(op("mul", id, param(3)), 4, param_values().set(3, 0.25)) == 1.0);
  CHECK(value_for(op("add", param(4), param(5)), 1, param_values().set(4, std::int64_t{41}).set(5, true)) == 42.0);
  CHECK_FALSE(value_for(param(2), 1, param_values().set(2, std::string("5"))).has_value());
}

TEST_CASE("a param that is null is so on every row of every block") {
  braid::arena memory;
  const std::vector<std::int64_t> ids(1300, 1);
  const json sum = op("add", id, op("mul", param(3), literal(2)));
  const column found = evaluate(expression(sum), row_set(batch(ids)), param_values().values, memory).value();
  CHECK(found.validity.count(ids.size()) == 0);
}

TEST_CASE("a comparison with null is false either way round, and `not` makes it true") {
  const json with_null = cmp("<", key(absent_key), literal(1));
  CHECK(holds_for(with_null, {1}) == truths{false});
  CHECK(holds_for({{"op", "not"}, {"x", with_null}}, {1}) == truths{true});
  CHECK(holds_for(cmp("!=", key(absent_key), literal(1)), {1}) == truths{false});
}

TEST_CASE("equality with a literal null tests for null") {
  CHECK(holds_for(cmp("==", key(absent_key), null), {1}) == truths{true});
  CHECK(holds_for(cmp("!=", null, key(absent_key)), {1}) == truths{false});
  CHECK(holds_for(cmp("!=", id, null), {1}) == truths{true});
  CHECK(holds_for(cmp("==", null, null), {1}) == truths{true});
  CHECK(holds_for(cmp("!=", null, null), {1}) == truths{false});
  CHECK(holds_for(cmp("<=", null, null), {1}) == truths{false});
}

TEST_CASE("`country != null` keeps the rows that have a country") {
  braid::arena memory;
  const std::vector<std::int64_t> ids{1, 2, 3};
  column_builder<std::string_view> country(memory, 3);
  country.push("US");
  country.push_null();
  country.push("");
  const row_set rows(batch(ids).with_column(text_key, country.finish(), memory));
  const pred_program has_country = predicate(cmp("!=", key(text_key), null));
  const row_set kept = rows.select(evaluate(has_country, rows, param_values().values, memory).value(), memory);
  CHECK(kept.size() == 2);
  CHECK(kept.id(1) == 3);
  const pred_program in_sum = predicate({{"op", "is_null"}, {"x", op("add", key(text_key), literal(1))}});
  CHECK(evaluate(in_sum, rows, param_values().values, memory)->count(3) == 3);
}

TEST_CASE("strings of any bytes are matched by lists and patterns") {
  using namespace std::string_literals;
  braid::arena memory;
  const std::vector<std::int64_t> ids{1, 2, 3};
  column_builder<std::string_view> text(memory, 3);
  for (const std::string& each : {"a\0b"s, "\xff\xfe"s, "ab"s}) text.push(each);
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  const auto kept = [&](const json& tree) {
    return evaluate(predicate(tree), rows, param_values().values, memory)->words()[0] & 7U;
  };
  CHECK(kept({{"op", "in"}, {"lhs", key(text_key)}, {"list", {"a\0b"s}}}) == 0b001);
  CHECK(kept({{"op", "regex"},
              {"key_id", text_key},
              {"pattern", {{"kind", "literal"}, {"value", "A.?B"}}},
              {"flags", "i"}}) == 0b101);
  CHECK(
      kept(
          {{"op", "regex"}, {"key_id", text_key}, {"pattern", {{"kind", "literal"}, {"value", "B"}}}, {"flags", ""}}) ==
      0);
}

TEST_CASE("a pattern that is null or that RE2 refuses is an error, even without rows") {
  braid::arena memory;
  const pred_program code =
      predicate({{"op", "or"}, {"a", {{"op", "const_bool"}, {"value", true}}}, {"b", param_regex()}});
  const auto unset = evaluate(code, row_set(), param_values().values, memory);
  REQUIRE_FALSE(unset.has_value());
  CHECK(unset.error().code == "regex_pattern_null");
  CHECK(unset.error().pointer == "/p/b/pattern");
  const auto bad = evaluate(code, row_set(), param_values().set(2, std::string("(")).values, memory);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().code == "bad_regex");
  CHECK(evaluate(code, row_set(), param_values().set(2, std::string("x")).values, memory).has_value());
}

TEST_CASE("a predicate finds strings whether few rows of a large batch are active or all") {
  braid::arena memory;
  constexpr std::size_t size = 5000;
  std::vector<std::int64_t> ids(size);
  column_builder<std::string_view> text(memory, size);
  for (std::size_t i = 0; i < size; ++i) text.push("word " + std::to_string(i));
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  const pred_program code = predicate(param_regex());
  const param_values ends_in_nine = param_values().set(2, std::string("9$"));
  CHECK(evaluate(code, rows, ends_in_nine.values, memory)->count(size) == size / 10);
  for (const std::size_t few : {1, 10, 100})
    CHECK(evaluate(code, rows.take(few), ends_in_nine.values, memory)->count(few) == few / 10);
  const std::vector<std::uint32_t> order{4999, 0, 9, 4998};
  CHECK(evaluate(code, row_set(rows.table(), order), ends_in_nine.values, memory)->words()[0] == 0b0101);
}

TEST_CASE("a pattern is asked about each string of a dictionary once, however many rows have it") {
  braid::arena memory;
  constexpr std::size_t size = 100'000;
  constexpr std::array words{"red", "green", "blue"};
  std::vector<std::int64_t> ids(size);
  column_builder<std::string_view> text(memory, size);
  for (std::size_t i = 0; i < size; ++i) text.push(words[i % words.size()]);
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  const auto asked_by = [&](const json& tree, const row_set& of) {
    const pred_program code = predicate(tree);
    const param_values ends_in_e = param_values().set(2, std::string("e$"));
    const std::size_t before = matches_asked.load();
    REQUIRE(evaluate(code, of, ends_in_e.values, memory)->count(of.size()) == of.size() / 3);
    return matches_asked.load() - before;
  };
  const json literal_regex = {
      {"op", "regex"}, {"key_id", text_key}, {"pattern", {{"kind", "literal"}, {"value", "^blue$"}}}, {"flags", "i"}};
  CHECK(asked_by(param_regex(), rows) == words.size());
  CHECK(asked_by(literal_regex, rows) == words.size());
  CHECK(asked_by({{"op", "and"}, {"a", param_regex()}, {"b", literal_regex}}, rows) == 2 * words.size());
  CHECK(asked_by(param_regex(), rows.take(50'001)) == words.size());
}

TEST_CASE("of a large dictionary a pattern is asked about those strings alone that occur, once each") {
  braid::arena memory;
  constexpr std::size_t size = 5'000;
  std::vector<std::int64_t> ids(size);
  column_builder<std::string_view> text(memory, size);
  for (std::size_t i = 0; i < size; ++i) text.push("word " + std::to_string(i / 2));
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  const pred_program code = predicate(param_regex());
  const param_values any = param_values().set(2, std::string("word"));
  for (const std::size_t few : {1, 10, 100}) {
    const std::size_t before = matches_asked.load();
    CHECK(evaluate(code, rows.take(few), any.values, memory)->count(few) == few);
    CHECK(matches_asked.load() - before == (few + 1) / 2);
  }
}

TEST_CASE("no rows give no results") {
  braid::arena memory;
  const auto nothing = evaluate(expression(op("add", id, literal(1))), row_set(), param_values().values, memory);
  REQUIRE(nothing.has_value());
  CHECK(nothing->size() == 0);
  CHECK(evaluate(predicate(cmp("<", id, literal(1))), row_set(), param_values().values, memory)->count(0) == 0);
}

TEST_CASE("a chain as deep as is allowed runs, whichever side it grows to") {
  json left = id;
  json right = id;
  for (int level = 1; level < 200; ++level) {
    left = op("add", left, id);
    right = op("add", id, right);
  }
  CHECK(value_for(left, 2) == 400.0);
  CHECK(value_for(right, 2) == 400.0);
}

TEST_CASE("one program serves any number of row sets") {
  braid::arena memory;
  const json tree = op("mul", key(float_key), param(1));
  const expr_program code = expression(tree);
  random_rows random(11, memory);
  for (const std::size_t size : {3, 600, 0, 65}) {
    const row_set rows = random.set(size);
    const param_values params = random_params(size);
    CHECK(agrees(tree, rows, params, evaluate(code, rows, params.values, memory).value()));
  }
}

TEST_CASE("remainders of integers are exact, and null where there is none") {
  CHECK(value_for(op("mod", id, literal(10)), two_to_53 + 1) == 3);
  CHECK(value_for(op("mod", id, literal(10)), -7) == -7);
  CHECK(value_for(op("mod", id, literal(-1)), i64_min) == 0);
  CHECK(value_for(op("mod", id, literal(0)), 7) == std::nullopt);
  CHECK(value_for(op("mod", id, null), 7) == std::nullopt);
  CHECK(value_for(op("mod", id, literal(2.5)), 7) == 2);
  CHECK(value_for(op("mod", literal(1e308), literal(0.0)), 7) == std::nullopt);
  CHECK(holds_for(cmp("==", op("mod", id, literal(two_to_53)), literal(1)), {1, two_to_53 + 1, two_to_53 + 2}) ==
        truths{true, true, false});
}

TEST_CASE("buckets of ids are what they were, and every bucket has its share") {
  const auto bucket = [](const json& x, std::int64_t count, const char* seed) -> json {
    return {{"op", "bucket"}, {"x", x}, {"count", count}, {"seed", seed}};
  };
  std::vector<int> sizes(10);
  for (std::int64_t each = 0; each < 1000; ++each)
    ++sizes[static_cast<std::size_t>(*value_for(bucket(id, 10, "a"), each))];
  for (const int size : sizes) CHECK((size > 60 && size < 140));
  CHECK(value_for(bucket(id, 1000, ""), 1) != value_for(bucket(id, 1000, "b"), 1));
  CHECK(value_for(bucket(null, 10, ""), 1) == std::nullopt);
}
