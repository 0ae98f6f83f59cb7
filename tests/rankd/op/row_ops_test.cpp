// tests/rankd/op/row_ops_test.cpp: the operators that compute on rows: vm, filter, concat, sort, take, dedupe, join.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

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
        "null_value: the value for `final_score` of row 1 (id 22) is null, which the key refuses");
  const std::vector<std::uint32_t> order{2, 1};
  CHECK(error_of(bench.run(*op, {row_set(rows.table(), order)})).find("row 2 (id 33)") != std::string::npos);
  CHECK(bench.run(*op, {rows.take(1)}).has_value());
  CHECK(bench.run(*op, {rows.take(0)}).has_value());
  CHECK(bench.run(*vm(score, key(score)), {rows}).has_value());
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

auto texts_of(const row_set& rows, std::uint32_t key_id) -> texts {
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
  CHECK((texts_of(out, title) == texts{"two", "three", "two"}));
  CHECK(out.table().find(score)->is_null(0));
  CHECK(out.table().ids().data() == bench.left.table().ids().data());
  const row_set moved = bench.join(R"("how":"inner","select":[1001,1],"map":[2001,1501])").value();
  CHECK((floats_of(moved, final_score) == floats{2.5, std::nullopt, 2.5}));
  CHECK_FALSE(moved.table().find(score));
  const column taken = moved.table().find(1501).value();
  CHECK((*taken.integers())[moved.row(1)] == 3);
  CHECK((ids_of(bench.join(R"("how":"inner","select":[])").value()) == ids{2, 3, 2}));
}

TEST_CASE("a left join keeps every row; one without partner gets null, the key's default, or fails") {
  join_bench bench;
  for (const char* more : {"", R"(,"on_missing":null)", R"(,"on_missing":"null")"}) {
    const row_set out = bench.join(R"("how":"left","select":[1001,3002])" + std::string(more)).value();
    CHECK((ids_of(out) == ids{1, 2, 3, 2}));
    CHECK((floats_of(out, score) == floats{std::nullopt, 2.5, std::nullopt, 2.5}));
    CHECK((texts_of(out, title) == texts{std::nullopt, "two", "three", "two"}));
  }
  // A null that the partner has is no missing partner, and a key may have no default.
  const row_set filled =
      bench.join(R"("how":"left","select":[1001,3002],"map":[2001,3001],"on_missing":"default")").value();
  CHECK((floats_of(filled, final_score) == floats{0, 2.5, std::nullopt, 2.5}));
  CHECK((texts_of(filled, country) == texts{std::nullopt, "two", "three", "two"}));
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
  CHECK((texts_of(bench.run(*join, {left, right}).value(), 2) == texts{"none", "two", "none"}));
  CHECK((texts_of(bench.run(*join, {left, bare}).value(), 2) == texts{"none", std::nullopt, "none"}));
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
          "duplicate_join_key: row 2 (id 3) of the right side has the same `id` as one before it");
  CHECK(bench.join(R"("how":"semi","by":3001)").has_value());
  bench.right = bench.right.take(2);
  CHECK(bench.join(R"("how":"semi")").has_value());
}
