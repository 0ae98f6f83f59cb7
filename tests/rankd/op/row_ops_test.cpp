// tests/rankd/op/row_ops_test.cpp: the operators that compute on rows: vm, filter, concat, sort, take, dedupe, join,
// extract_features.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using rankd::testing::bind_op;
using rankd::testing::ids_of;
using rankd::testing::op_bench;

namespace {

using ids = std::vector<std::int64_t>;
using floats = std::vector<std::optional<double>>;
using texts = std::vector<std::optional<std::string_view>>;

constexpr std::uint32_t score = 1001;
constexpr std::uint32_t final_score = 2001;
constexpr std::uint32_t country = 3001;

auto vm(std::uint32_t out_key, const std::string& expression) -> testing::op_ptr {
  return bind_op("core::vm", R"({"expr_id":"e","out_key":)" + std::to_string(out_key) + "}", expression).value();
}

auto filter(const std::string& predicate) -> testing::op_ptr {
  return bind_op("core::filter", R"({"pred_id":"p"})", R"({"op":"const_null"})", predicate).value();
}

auto key(int id) -> std::string { return R"({"op":"key_ref","key_id":)" + std::to_string(id) + "}"; }

/// The floats of the active rows in order.
auto floats_of(const row_set& rows, std::uint32_t key_id) -> floats {
  floats out;
  const column values = rows.table().find(key_id).value();
  rows.for_each_row([&](std::uint32_t row) {
    out.push_back(values.is_null(row) ? std::nullopt : std::optional((*values.floats())[row]));
  });
  return out;
}

auto error_of(const op_result<row_set>& result) -> std::string {
  return result ? "no error" : result.error().code + ": " + result.error().message;
}

constexpr std::uint32_t count = 1501;
constexpr std::uint32_t fresh = 1502;
constexpr std::uint32_t feature = 5002;
constexpr std::uint32_t other_feature = 5004;

auto extract(const std::string& params) -> testing::op_ptr {
  return bind_op("core::extract_features", "{" + params + "}").value();
}

/// The only feature of a key.
auto extract(const std::string& transform, std::uint32_t from, const std::string& more = "") -> testing::op_ptr {
  return extract(R"("transform":")" + transform + R"(","keys":[)" + std::to_string(from) + R"(],"out_keys":[5002])" +
                 more);
}

/// A feature of rows as a plain reading of the page says, from one cell; nothing for null.
struct plain_feature {
  std::string transform;
  nlohmann::json more;

  [[nodiscard]] auto of(const testing::cell& value) const -> std::optional<double> {
    if (transform == "is_null") return value.index() == 0 ? 1 : 0;
    if (transform == "one_hot") return matches(value) ? 1 : 0;
    if (value.index() == 0) return std::nullopt;
    // Holds every double and every int64.
    const long double number = std::holds_alternative<double>(value)
                                   ? static_cast<long double>(std::get<double>(value))
                                   : static_cast<long double>(std::get<std::int64_t>(value));
    if (transform == "log1p") return std::log1p(static_cast<double>(number));
    if (transform == "clip") {
      const auto near = static_cast<double>(number);
      if (more.contains("min") && near < more.at("min").get<double>()) return more.at("min").get<double>();
      return more.contains("max") && near > more.at("max").get<double>() ? more.at("max").get<double>() : near;
    }
    double below = 0;
    for (const auto& each : more.at("boundaries")) below += each.get<double>() <= number ? 1 : 0;
    return below;
  }

 private:
  [[nodiscard]] auto matches(const testing::cell& value) const -> bool {
    const auto& wanted = more.at("values").at(0);
    if (const auto* text = std::get_if<std::string>(&value)) return wanted.is_string() && wanted == *text;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole == wanted.get<std::int64_t>();
    if (const auto* number = std::get_if<double>(&value))
      return static_cast<long double>(*number) == static_cast<long double>(wanted.get<std::int64_t>());
    return false;
  }
};

auto same(std::optional<double> a, std::optional<double> b) -> bool {
  return a.has_value() == b.has_value() && (!a || std::bit_cast<std::uint64_t>(*a) == std::bit_cast<std::uint64_t>(*b));
}

/// How many rows have another feature than the plain one, of those that are active, or a value although they are not.
auto differences(const row_set& rows, std::uint32_t from, const plain_feature& plain, const column& made)
    -> std::size_t {
  std::vector<std::optional<double>> expected(rows.table().size());
  const auto source = rows.table().find(from);
  rows.for_each_row(
      [&](std::uint32_t row) { expected[row] = plain.of(source ? testing::cell_of(*source, row) : testing::cell()); });
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const auto got = made.is_null(row) ? std::nullopt : std::optional((*made.floats())[row]);
    if (!same(got, expected[row])) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("vm adds a column on the active rows and leaves the others null") {
  op_bench bench;
  const std::vector<std::uint32_t> order{2, 0};
  const row_set view(bench.rows_of({10, 20, 30}).table(), order);
  const std::string twice = R"({"op":"mul","a":)" + key(1) + R"(,"b":{"op":"const_number","value":2}})";
  const row_set out = bench.run(*vm(final_score, twice), {view}).value();
  CHECK((ids_of(out) == ids{30, 10}));
  CHECK((floats_of(out, final_score) == floats{60, 20}));
  CHECK(out.table().find(final_score)->is_null(1));
  CHECK(out.table().ids().data() == view.table().ids().data());
}

TEST_CASE("vm replaces a column that is there, which the expression may read") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({1, 2}), score, {0.5, std::nullopt});
  const row_set out = bench.run(*vm(score, R"({"op":"neg","x":)" + key(score) + "}"), {rows}).value();
  CHECK((floats_of(out, score) == floats{-0.5, std::nullopt}));
  CHECK((floats_of(rows, score) == floats{0.5, std::nullopt}));
}

TEST_CASE("vm reads params of the request") {
  op_bench bench;
  const auto weight = vm(score, R"({"op":"param_ref","param_id":1})");
  CHECK((floats_of(bench.run(*weight, {bench.rows_of({1})}).value(), score) == floats{0.5}));
  bench.params[0] = 3.0;
  CHECK((floats_of(bench.run(*weight, {bench.rows_of({1})}).value(), score) == floats{3}));
  bench.params[0] = scalar{};
  CHECK((floats_of(bench.run(*weight, {bench.rows_of({1})}).value(), score) == floats{std::nullopt}));
}

TEST_CASE("a null for a key that refuses it names the key, the row and its id; inactive rows do not count") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({11, 22, 33}), score, {1.0, std::nullopt, std::nullopt});
  const auto op = vm(final_score, key(score));
  CHECK(error_of(bench.run(*op, {rows})) ==
        "null_value: the value for `final_score` of row 1 (id 22) is null, which the key does not allow");
  const std::vector<std::uint32_t> order{2, 1};
  CHECK(error_of(bench.run(*op, {row_set(rows.table(), order)})).find("row 2 (id 33)") != std::string::npos);
  CHECK(bench.run(*op, {rows.take(1)}).has_value());
  CHECK(bench.run(*op, {rows.take(0)}).has_value());
  CHECK(bench.run(*vm(score, key(score)), {rows}).has_value());
}

TEST_CASE("a null that comes of a param without a value names the param") {
  op_bench bench;
  const auto op =
      vm(final_score, R"({"op":"add","a":{"op":"const_number","value":1},"b":{"op":"param_ref","param_id":1}})");
  bench.params[0] = scalar{};
  CHECK(error_of(bench.run(*op, {bench.rows_of({7})})) ==
        "null_value: the value for `final_score` of row 0 (id 7) is null, which the key does not allow; the request "
        "sets no value for the param `weight`, which the formula reads");
}

TEST_CASE("a value that is not finite is refused even by a nullable key") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({11, 22}), score, {1.0, 1e308});
  const std::string tenfold = R"({"op":"mul","a":)" + key(score) + R"(,"b":{"op":"const_number","value":10}})";
  CHECK(error_of(bench.run(*vm(score, tenfold), {rows})) ==
        "non_finite_value: the value for `score` of row 1 (id 22) is not a finite number");
  CHECK(bench.run(*vm(score, tenfold), {rows.take(1)}).has_value());
}

TEST_CASE("filter keeps the rows for which the predicate holds, in the current order") {
  op_bench bench;
  const row_set table =
      bench.with<std::string_view>(bench.rows_of({1, 2, 3, 4}), country, {"US", std::nullopt, "CA", "US"});
  const std::vector<std::uint32_t> order{3, 2, 1, 0};
  const row_set rows(table.table(), order);
  const auto in_us = filter(R"({"op":"in","lhs":)" + key(country) + R"(,"list":["US"]})");
  CHECK((ids_of(bench.run(*in_us, {rows}).value()) == ids{4, 1}));
  CHECK((ids_of(bench.run(*filter(R"({"op":"is_null","x":)" + key(country) + "}"), {rows}).value()) == ids{2}));
  CHECK((ids_of(bench.run(*filter(R"({"op":"const_bool","value":true})"), {rows}).value()) == ids{4, 3, 2, 1}));
  CHECK(bench.run(*filter(R"({"op":"const_bool","value":false})"), {rows}).value().empty());
  CHECK(bench.run(*in_us, {rows.take(0)}).value().empty());
  CHECK(bench.run(*in_us, {bench.rows_of({1, 2})}).value().empty());
}

TEST_CASE("a pattern that is null or wrong is an error that says where the plan asks for it") {
  op_bench bench;
  const auto matching =
      filter(R"({"op":"not","x":{"op":"regex","key_id":3001,"flags":"","pattern":{"kind":"param","param_id":2}}})");
  const row_set rows = bench.with<std::string_view>(bench.rows_of({1, 2}), country, {"US", "CA"});
  const std::string unset = error_of(bench.run(*matching, {rows}));
  CHECK(unset.starts_with("regex_pattern_null: "));
  CHECK(unset.find("(at /pred_table/p/x") != std::string::npos);
  bench.params[1] = std::string("(");
  CHECK(error_of(bench.run(*matching, {rows})).starts_with("bad_regex: "));
  bench.params[1] = std::string("^U");
  CHECK((ids_of(bench.run(*matching, {rows}).value()) == ids{2}));
}

TEST_CASE("concat gives the rows of the left, then of the right, with the columns of both") {
  op_bench bench;
  row_set left = bench.with<std::string_view>(bench.rows_of({1, 2, 3}), country, {"US", "CA", std::nullopt});
  row_set right = bench.with<std::string_view>(bench.rows_of({1, 5}), country, {"MX", "US"});
  right = bench.with<double>(right, score, {0.1, 0.5});
  const std::vector<std::uint32_t> order{2, 0};
  const row_set out = bench.rows("core::concat", R"({"rhs":"right"})", {row_set(left.table(), order), right});
  using cell = testing::cell;
  const std::vector<testing::model_row> expected{
      {3, {}},
      {1, {{country, cell(std::string("US"))}}},
      {1, {{country, cell(std::string("MX"))}, {score, cell(0.1)}}},
      {5, {{country, cell(std::string("US"))}, {score, cell(0.5)}}},
  };
  CHECK((testing::rows_of(out) == expected));
  CHECK(out.is_prefix());
  CHECK(bench.rows("core::concat", R"({"rhs":"right"})", {row_set(), row_set()}).empty());
  CHECK((ids_of(bench.rows("core::concat", R"({"rhs":"right"})", {row_set(), right})) == ids{1, 5}));
}

TEST_CASE("sort is stable, ascending unless told otherwise, with nulls last both ways") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({1, 2, 3, 4, 5}), score, {2.0, std::nullopt, 1.0, 2.0, 3.0});
  CHECK((ids_of(bench.rows("core::sort", R"({"by":1001})", {rows})) == ids{3, 1, 4, 5, 2}));
  CHECK((ids_of(bench.rows("core::sort", R"({"by":1001,"order":null})", {rows})) == ids{3, 1, 4, 5, 2}));
  CHECK((ids_of(bench.rows("core::sort", R"({"by":1001,"order":"asc"})", {rows})) == ids{3, 1, 4, 5, 2}));
  CHECK((ids_of(bench.rows("core::sort", R"({"by":1001,"order":"desc"})", {rows})) == ids{5, 1, 4, 3, 2}));
  CHECK((ids_of(bench.rows("core::sort", R"({"by":1,"order":"desc"})", {rows})) == ids{5, 4, 3, 2, 1}));
  CHECK((ids_of(bench.rows("core::sort", R"({"by":3001})", {rows})) == ids{1, 2, 3, 4, 5}));
  CHECK(bench.rows("core::sort", R"({"by":1001})", {rows.take(0)}).empty());
}

TEST_CASE("take gives the first rows of the current order, or all") {
  op_bench bench;
  const std::vector<std::uint32_t> order{2, 0, 1};
  const row_set rows(bench.rows_of({1, 2, 3}).table(), order);
  CHECK((ids_of(bench.rows("core::take", R"({"count":2})", {rows})) == ids{3, 1}));
  CHECK((ids_of(bench.rows("core::take", R"({"count":9223372036854775807})", {rows})) == ids{3, 1, 2}));
  CHECK(bench.rows("core::take", R"({"count":1})", {row_set()}).empty());
}

TEST_CASE("dedupe keeps the first row of each id unless told otherwise, at its place") {
  op_bench bench;
  const std::vector<std::uint32_t> order{4, 3, 2, 1, 0};
  const row_set rows(bench.rows_of({1, 2, 1, 3, 2}).table(), order);
  for (const char* params : {"{}", R"({"by":null})", R"({"by":1,"strategy":"first"})", R"({"strategy":null})"})
    CHECK((ids_of(bench.rows("core::dedupe", params, {rows})) == ids{2, 3, 1}));
  const row_set last = bench.rows("core::dedupe", R"({"strategy":"last"})", {rows});
  CHECK((ids_of(last) == ids{3, 2, 1}));
  CHECK(last.row(2) == 0);
  CHECK(bench.rows("core::dedupe", "{}", {row_set()}).empty());
}

TEST_CASE("dedupe by a key keeps all rows without a value, and the highest score where it is told so") {
  op_bench bench;
  row_set rows = bench.with<std::string_view>(bench.rows_of({1, 2, 3, 4, 5, 6}), country,
                                              {"US", std::nullopt, "CA", "US", std::nullopt, "CA"});
  rows = bench.with<double>(rows, score, {1.0, 9.0, std::nullopt, 1.5, 9.0, -3.0});
  CHECK((ids_of(bench.rows("core::dedupe", R"({"by":3001})", {rows})) == ids{1, 2, 3, 5}));
  const std::string highest = R"({"by":3001,"strategy":"max_by","score_key":1001})";
  CHECK((ids_of(bench.rows("core::dedupe", highest, {rows})) == ids{2, 4, 5, 6}));
  CHECK((ids_of(bench.rows("core::dedupe", R"({"by":3002})", {rows})) == ids{1, 2, 3, 4, 5, 6}));
}

namespace {

constexpr std::uint32_t title = 3002;

/// A bitmap of the second of two rows.
constexpr std::uint64_t second = 0b10;

/// Rows of which a join knows some: 2 and 3 have a score, of which one is null, and a title.
struct join_bench : op_bench {
  row_set left = rows_of({1, 2, 3, 2});
  row_set right = rows_of({3, 2, 7});

  join_bench() {
    right = with<double>(right, score, {std::nullopt, 2.5, 7.5});
    right = with<std::string_view>(right, title, {"three", "two", "seven"});
  }

  auto join(const std::string& more) -> op_result<row_set> {
    return run(*bind_op("core::join", R"({"rhs":"right",)" + more + "}").value(), {left, right});
  }
};

auto make_texts(const row_set& rows, std::uint32_t key_id) -> texts {
  texts out;
  const column values = rows.table().find(key_id).value();
  rows.for_each_row([&](std::uint32_t row) {
    out.push_back(values.is_null(row) ? std::nullopt : std::optional((*values.strings())[row]));
  });
  return out;
}

}  // namespace

TEST_CASE("an inner join keeps the rows that have a partner and takes its columns over") {
  join_bench bench;
  const row_set out = bench.join(R"("how":"inner","select":[1001,3002])").value();
  CHECK((ids_of(out) == ids{2, 3, 2}));
  CHECK((floats_of(out, score) == floats{2.5, std::nullopt, 2.5}));
  CHECK((make_texts(out, title) == texts{"two", "three", "two"}));
  CHECK(out.table().find(score)->is_null(0));
  CHECK(out.table().ids().data() == bench.left.table().ids().data());
  const row_set moved = bench.join(R"("how":"inner","select":[1001,1],"map":[2001,1501])").value();
  CHECK((floats_of(moved, final_score) == floats{2.5, std::nullopt, 2.5}));
  CHECK_FALSE(moved.table().find(score));
  const column taken = moved.table().find(1501).value();
  CHECK((*taken.integers())[moved.row(1)] == 3);
  CHECK((ids_of(bench.join(R"("how":"inner","select":[])").value()) == ids{2, 3, 2}));
}

TEST_CASE("a broadcast gives every row the columns of the only row of the right") {
  join_bench bench;
  const row_set all = bench.right;
  const auto cast = [&](const row_set& right, const std::string& more) {
    bench.right = right;
    return bench.join(R"("how":"broadcast",)" + more);
  };
  const row_set out = cast(all.take(2).select(bitmap(&second), bench.memory()), R"("select":[1001,3002])").value();
  CHECK((ids_of(out) == ids{1, 2, 3, 2}));
  CHECK((floats_of(out, score) == floats(4, 2.5)));
  CHECK((make_texts(out, title) == texts(4, "two")));
  const row_set none = cast(all.take(0), R"("select":[1001],"map":[2001],"on_missing":"default")").value();
  CHECK((floats_of(none, final_score) == floats(4, 0.0)));
  CHECK((floats_of(cast(all.take(0), R"("select":[1001])").value(), score) == floats(4, std::nullopt)));
  CHECK(error_of(cast(all.take(0), R"("select":[],"on_missing":"error")")) ==
        "missing_join_partner: row 0 (id 1) has no partner");
  CHECK(error_of(cast(all, R"("select":[])")) ==
        "not_one_row: the right side has 3 rows; a broadcast join needs exactly one");
}

TEST_CASE("a left join keeps every row; one without partner gets null, the key's default, or fails") {
  join_bench bench;
  for (const char* more : {"", R"(,"on_missing":null)", R"(,"on_missing":"null")"}) {
    const row_set out = bench.join(R"("how":"left","select":[1001,3002])" + std::string(more)).value();
    CHECK((ids_of(out) == ids{1, 2, 3, 2}));
    CHECK((floats_of(out, score) == floats{std::nullopt, 2.5, std::nullopt, 2.5}));
    CHECK((make_texts(out, title) == texts{std::nullopt, "two", "three", "two"}));
  }
  // A null that the partner has is no missing partner, and a key may have no default.
  const row_set filled =
      bench.join(R"("how":"left","select":[1001,3002],"map":[2001,3001],"on_missing":"default")").value();
  CHECK((floats_of(filled, final_score) == floats{0, 2.5, std::nullopt, 2.5}));
  CHECK((make_texts(filled, country) == texts{std::nullopt, "two", "three", "two"}));
  const std::string strict = R"("how":"left","select":[1001],"on_missing":"error")";
  CHECK(error_of(bench.join(strict)) == "missing_join_partner: row 0 (id 1) has no partner with the same `id`");
  bench.left = bench.rows("core::join", R"({"rhs":"right","how":"semi"})", {bench.left, bench.right});
  CHECK(bench.join(strict).has_value());
}

TEST_CASE("a default that is a string is a word of the column") {
  const auto declared = rankd::testing::registries_of(R"(
[[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false

[[key]]
key_id = 2
name = "word"
type = "string"
nullable = false
default = "none"
)",
                                                      "", "");
  plan_node node;
  node.op = "core::join";
  node.params = {{"rhs", param_kind::node_ref, scalar(std::int64_t{0}), {}, "/r"},
                 {"how", param_kind::enumeration, scalar(std::string("left")), {}, "/h"},
                 {"select", param_kind::key_ids, {}, {2}, "/s"},
                 {"on_missing", param_kind::enumeration, scalar(std::string("default")), {}, "/m"}};
  const auto join = find_op("core::join")->bind(node, {declared, {}, {}}).value();
  op_bench bench;
  const row_set left = bench.rows_of({1, 2, 3});
  const row_set bare = bench.rows_of({2});
  const row_set right = bench.with<std::string_view>(bare, 2, {"two"});
  CHECK((make_texts(bench.run(*join, {left, right}).value(), 2) == texts{"none", "two", "none"}));
  CHECK((make_texts(bench.run(*join, {left, bare}).value(), 2) == texts{"none", std::nullopt, "none"}));
}

TEST_CASE("semi and anti joins only look, and a null has no partner") {
  join_bench bench;
  CHECK((ids_of(bench.join(R"("how":"semi")").value()) == ids{2, 3, 2}));
  CHECK((ids_of(bench.join(R"("how":"anti")").value()) == ids{1}));
  const std::vector<std::uint32_t> order{3, 0};
  bench.left = row_set(bench.left.table(), order);
  CHECK((ids_of(bench.join(R"("how":"semi")").value()) == ids{2}));
  bench.left = bench.with<std::string_view>(bench.left, title, {"two", std::nullopt, "three", "six"});
  CHECK((ids_of(bench.join(R"("how":"semi","by":3002)").value()) == ids{1}));
  CHECK((ids_of(bench.join(R"("how":"anti","by":3002)").value()) == ids{2}));
  CHECK((ids_of(bench.join(R"("how":"anti","by":3001)").value()) == ids{2, 1}));
  bench.right = row_set();
  CHECK(bench.join(R"("how":"semi")").value().empty());
}

TEST_CASE("a value that stands twice on the right side fails every join, unless it is null or not active") {
  join_bench bench;
  bench.right = bench.rows_of({3, 4, 3});
  const std::vector<std::string> all{R"("how":"inner","select":[])", R"("how":"left","select":[])", R"("how":"semi")",
                                     R"("how":"anti")"};
  for (const std::string& more : all)
    CHECK(error_of(bench.join(more)) ==
          "duplicate_join_key: row 2 (id 3) of the right side has the same `id` as an earlier row");
  CHECK(bench.join(R"("how":"semi","by":3001)").has_value());
  bench.right = bench.right.take(2);
  CHECK(bench.join(R"("how":"semi")").has_value());
}

TEST_CASE("a bucket is the number of boundaries that are no greater, exactly, and of a null it is null") {
  op_bench bench;
  const row_set rows =
      bench.with<double>(bench.rows_of({1, 2, 3, 4, 5, 6}), score, {-0.5, -0.0, 0.0, 9.99, std::nullopt, 1e300});
  const auto by = extract("bucket", score, R"(,"boundaries":[0,2.5,10])");
  CHECK((floats_of(bench.run(*by, {rows}).value(), feature) == floats{0, 1, 1, 2, std::nullopt, 3}));

  constexpr std::int64_t p53 = std::int64_t{1} << 53U;
  constexpr std::int64_t max_value = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t min_value = std::numeric_limits<std::int64_t>::min();
  const row_set whole = bench.with<std::int64_t>(bench.rows_of({1, 2, 3, 4, 5, 6, 7, 8}), count,
                                                 {p53 - 1, p53, p53 + 1, max_value, min_value, 0, 1, -1});
  const auto beside = extract("bucket", count, R"(,"boundaries":[-0.5,0.5,9007199254740992])");
  CHECK((floats_of(bench.run(*beside, {whole}).value(), feature) == floats{2, 3, 3, 3, 0, 1, 2, 0}));
  const auto edges =
      extract("bucket", count, R"(,"boundaries":[-1e30,-9223372036854775808,9223372036854775807.0,1e30])");
  CHECK((floats_of(bench.run(*edges, {whole}).value(), feature) == floats{2, 2, 2, 2, 2, 2, 2, 2}));
  const auto beyond = extract("bucket", count, R"(,"boundaries":[1e19])");
  CHECK((floats_of(bench.run(*beyond, {whole.take(2)}).value(), feature) == floats{0, 0}));
}

TEST_CASE("clip moves what lies outside to the bound, and integers become the nearest float") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({1, 2, 3, 4, 5}), score, {-7.0, -0.0, 0.5, std::nullopt, 7.0});
  const auto clipped = [&](const std::string& more) {
    return floats_of(bench.run(*extract("clip", score, more), {rows}).value(), feature);
  };
  CHECK((clipped(R"(,"min":-1,"max":2)") == floats{-1, -0.0, 0.5, std::nullopt, 2}));
  CHECK((clipped(R"(,"min":0,"max":null)") == floats{0, -0.0, 0.5, std::nullopt, 7}));
  CHECK(std::signbit(*clipped(R"(,"min":0)")[1]));  // equal to the bound, so it stays what it is
  CHECK((clipped(R"(,"max":-1)") == floats{-7, -1, -1, std::nullopt, -1}));
  CHECK((clipped(R"(,"min":3,"max":3)") == floats{3, 3, 3, std::nullopt, 3}));
  constexpr std::int64_t p53 = std::int64_t{1} << 53U;
  const row_set whole = bench.with<std::int64_t>(bench.rows_of({1, 2}), count, {p53 + 1, -5});
  CHECK(
      (floats_of(bench.run(*extract("clip", count, R"(,"min":-2)"), {whole}).value(), feature) == floats{0x1p53, -2}));
}

TEST_CASE("what has no logarithm is an error that names row and key, unless nobody looks at the row") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({11, 22, 33, 44}), score, {0.0, 1e300, std::nullopt, -1.0});
  const auto logarithm = extract("log1p", score);
  CHECK((floats_of(bench.run(*logarithm, {rows.take(3)}).value(), feature) ==
         floats{0, std::log1p(1e300), std::nullopt}));
  CHECK(error_of(bench.run(*logarithm, {rows})) ==
        "non_finite_value: the log1p of row 3 (id 44) for `secret` is not a finite number");
  const row_set less = bench.with<std::int64_t>(bench.rows_of({5}), count, {-2});
  CHECK(error_of(bench.run(*extract("log1p", count), {less})).starts_with("non_finite_value: "));
}

TEST_CASE("a null is refused where the key refuses it, and never comes from is_null and one_hot") {
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({11, 22}), score, {0.5, std::nullopt});
  const auto onto = [](const std::string& more) {
    return extract(R"("keys":[1001],"out_keys":[2001],"transform":)" + more);
  };
  for (const char* more : {R"("clip","min":0)", R"("bucket","boundaries":[0])", R"("log1p")"}) {
    CAPTURE(more);
    CHECK(error_of(bench.run(*onto(more), {rows})).starts_with("null_value: the "));
    CHECK(bench.run(*onto(more), {rows.take(1)}).has_value());
  }
  CHECK(error_of(bench.run(*onto(R"("clip","min":0)"), {rows})) ==
        "null_value: the clip of row 1 (id 22) for `final_score` is null, which the key does not allow");
  CHECK((floats_of(bench.run(*onto(R"("is_null")"), {rows}).value(), final_score) == floats{0, 1}));
  CHECK((floats_of(bench.run(*onto(R"("one_hot","values":[3])"), {rows}).value(), final_score) == floats{0, 0}));
}

TEST_CASE("one_hot has a column for each value, of strings and integers, and a null equals none") {
  op_bench bench;
  const auto both = [&](const row_set& rows, const std::string& more) {
    const row_set out = bench.run(*extract(R"("transform":"one_hot","out_keys":[5002,5004],)" + more), {rows}).value();
    return std::pair(floats_of(out, feature), floats_of(out, other_feature));
  };
  using marks = std::pair<floats, floats>;
  const row_set lands =
      bench.with<std::string_view>(bench.rows_of({1, 2, 3, 4}), country, {"US", std::nullopt, "", "CA"});
  CHECK((both(lands, R"("keys":[3001],"values":["US",""])") == marks{{1, 0, 0, 0}, {0, 0, 1, 0}}));
  CHECK((both(lands, R"("keys":[3001],"values":["us","CA"])") == marks{{0, 0, 0, 0}, {0, 0, 0, 1}}));
  constexpr std::int64_t p53 = std::int64_t{1} << 53U;
  const row_set whole = bench.with<std::int64_t>(bench.rows_of({1, 2, 3, 4}), count, {p53, p53 + 1, std::nullopt, 0});
  CHECK((both(whole, R"("keys":[1501],"values":[9007199254740993,0])") == marks{{0, 1, 0, 0}, {0, 0, 0, 1}}));
  const row_set near = bench.with<double>(bench.rows_of({1, 2, 3}), score, {0x1p53, -0.0, std::nullopt});
  CHECK((both(near, R"("keys":[1001],"values":[9007199254740993,0])") == marks{{0, 0, 0}, {0, 1, 0}}));
}

TEST_CASE("a column that the rows have not is null on each of them") {
  op_bench bench;
  const row_set rows = bench.rows_of({1, 2});
  const auto made = [&](const std::string& transform, std::uint32_t from, const std::string& more = "") {
    return floats_of(bench.run(*extract(transform, from, more), {rows}).value(), feature);
  };
  CHECK((made("is_null", country) == floats{1, 1}));
  CHECK((made("one_hot", country, R"(,"values":["US"])") == floats{0, 0}));
  CHECK((made("one_hot", count, R"(,"values":[0])") == floats{0, 0}));
  CHECK((made("clip", score, R"(,"min":0)") == floats{std::nullopt, std::nullopt}));
  CHECK((made("bucket", count, R"(,"boundaries":[0])") == floats{std::nullopt, std::nullopt}));
  CHECK((made("log1p", score) == floats{std::nullopt, std::nullopt}));
  CHECK((floats_of(bench.run(*extract("is_null", 1), {rows}).value(), feature) == floats{0, 0}));
  CHECK(bench.run(*extract("is_null", 1), {rows.take(0)}).value().empty());
}

TEST_CASE("several keys are made into as many features, each by itself, and a stop ends the work") {
  op_bench bench;
  row_set rows = bench.with<double>(bench.rows_of({1, 2}), score, {0.5, std::nullopt});
  rows = bench.with<bool>(rows, fresh, {std::nullopt, false});
  const auto tests = extract(R"("transform":"is_null","keys":[1001,1502],"out_keys":[5004,5002])");
  const row_set out = bench.run(*tests, {rows}).value();
  CHECK((floats_of(out, other_feature) == floats{0, 1}));
  CHECK((floats_of(out, feature) == floats{1, 0}));
  CHECK((floats_of(out, score) == floats{0.5, std::nullopt}));
  static_cast<void>(bench.stop.request(braid::errc::stopped));
  CHECK(error_of(bench.run(*tests, {rows})).starts_with("stopped: "));
}

TEST_CASE("features are what a plain reading says, whatever rows are active, in whatever order and parts") {
  using nlohmann::json;
  op_bench bench;
  testing::random_rows random(11, bench.memory());
  for (int round = 0; round < 150; ++round) {
    std::vector<double> boundaries;
    for (std::size_t i = random.below(9) + 1; i > 0; --i)
      boundaries.push_back(random.floating() + (i % 2 == 0 ? 0.5 : 0));
    std::ranges::sort(boundaries);
    const auto repeats = std::ranges::unique(boundaries);
    boundaries.erase(repeats.begin(), repeats.end());
    const double low = random.floating();
    const std::vector<plain_feature> features{
        {"bucket", {{"boundaries", boundaries}}},
        {"clip", {{"min", low}, {"max", std::max(low, random.floating())}}},
        {"clip", {{"max", low}}},
        {"is_null", json::object()},
        {"one_hot", {{"values", json::array({random.integer()})}}},
    };
    const row_set rows = random.set(random.below(2) == 0 ? random.below(70) : random.below(1'500));
    for (const plain_feature& plain : features) {
      const std::string more = plain.more.dump().substr(1);
      const std::string text = (more == "}" ? "" : ",") + more.substr(0, more.size() - 1);
      for (const std::uint32_t from : {score, count}) {
        CAPTURE(plain.transform);
        CAPTURE(text);
        bench.rows_of_part = random.below(2) == 0 ? evaluate_options::one_part : random.below(600);
        const row_set out = bench.run(*extract(plain.transform, from, text), {rows}).value();
        REQUIRE(differences(rows, from, plain, out.table().find(feature).value()) == 0);
        CHECK(ids_of(out) == ids_of(rows));
      }
    }
    const plain_feature word{"one_hot", {{"values", json::array({round % 2 == 0 ? "US" : ""})}}};
    const auto hot = extract("one_hot", country, R"(,"values":[")" + std::string(round % 2 == 0 ? "US" : "") + "\"]");
    const row_set out = bench.run(*hot, {rows}).value();
    REQUIRE(differences(rows, country, word, out.table().find(feature).value()) == 0);
  }
}

TEST_CASE("logarithms are those of each row by itself, in whatever parts") {
  op_bench bench;
  std::vector<std::optional<double>> values;
  for (int row = 0; row < 3'000; ++row)
    values.push_back(row % 7 == 0 ? std::nullopt : std::optional(std::ldexp(1.1, row % 90 - 45) * row));
  std::vector<std::int64_t> names(values.size());
  const row_set rows =
      bench.with<double>(row_set(batch(bench.memory().copied(std::span<const std::int64_t>(names)))), score, values);
  for (const std::size_t part : {evaluate_options::one_part, std::size_t{0}, std::size_t{1'000}}) {
    bench.rows_of_part = part;
    const row_set out = bench.run(*extract("log1p", score), {rows}).value();
    CHECK(differences(rows, score, {"log1p", {}}, out.table().find(feature).value()) == 0);
  }
}
