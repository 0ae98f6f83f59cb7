// tests/rankd/op/operator_test.cpp: what a bound operator says of itself, and the operators that read the store.
#include <rankd/op/operator.hpp>

#include <rankd/store/error.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::bind_op;
using rankd::testing::cell;
using rankd::testing::cell_of;
using rankd::testing::ids_of;
using rankd::testing::lines;
using rankd::testing::model_row;
using rankd::testing::op_bench;

namespace {

using ids = std::vector<std::int64_t>;
constexpr std::uint32_t country_key = 3001;

const std::string first_store = R"({"endpoint":"ep_0001"})";

auto from_list(int fanout) -> std::string {
  return R"({"endpoint":"ep_0001","fanout":)" + std::to_string(fanout) + "}";
}

/// The countries in the order of the rows, "null" where there is none.
auto countries_of(const row_set& rows) -> lines {
  const auto column = rows.table().find(country_key);
  lines out;
  for (std::size_t at = 0; at < rows.size(); ++at)
    out.emplace_back(!column || column->is_null(rows.row(at)) ? "null" : (*column->strings())[rows.row(at)]);
  return out;
}

/// Users 1 to 4: the third has no country, the fourth no record. 1 follows all of them, 2 follows 1 and some junk.
struct social_bench : op_bench {
  social_bench() {
    store.hashes["user:1"]["country"] = "US";
    store.hashes["user:2"]["country"] = "CA";
    store.hashes["user:3"]["title"] = "no country";
    store.hashes["user:7"]["country"] = "";
    store.lists["follow:1"] = {"1", "2", "3", "4"};
    store.lists["follow:2"] = {"1", "x", "", "99999999999999999999", "2"};
    store.lists["follow:3"] = {};
    store.lists["recommendation:1"] = {"2", "2"};
    store.lists["media:1"] = {"501", "-502"};
  }
};

auto error_of(const op_result<row_set>& result) -> std::string {
  return result ? "no error" : result.error().code + ": " + result.error().message;
}

}  // namespace

TEST_CASE("an operator says whether it computes or waits, and what computing costs") {
  for (const char* op : {"core::viewer", "core::follow", "core::recommendation", "core::media"}) {
    const auto bound = bind_op(op, op == std::string("core::viewer") ? first_store : from_list(1));
    CHECK(bound.value()->work() == op_work::waits);
    CHECK(bound.value()->cost_ns(1'000'000) == 0);
  }
  CHECK(bind_op("test::sleep", R"({"duration_ms":1})").value()->work() == op_work::waits);
  const std::vector<std::pair<std::string, std::string>> computing{
      {"core::vm", R"({"out_key":1001,"expr_id":"e"})"},
      {"core::filter", R"({"pred_id":"p"})"},
      {"core::concat", R"({"rhs":"right"})"},
      {"core::dedupe", "{}"},
      {"core::join", R"({"rhs":"right","how":"semi"})"},
      {"core::sort", R"({"by":1})"},
      {"core::diversify", R"({"strategy":"window","by":1,"at_most":1})"},
      {"core::diversify", R"({"strategy":"quota","by":1,"values":[1],"every_nth":2})"},
      {"core::aggregate", R"({"of":"count","out_key":1001})"},
      {"core::rank_fusion", R"({"by":3001,"out_key":1001})"},
      {"core::sample", R"({"count":1,"seed":"a"})"},
      {"core::extract_features", R"({"transform":"is_null","keys":[1],)"
                                 R"("out_keys":[1001]})"}};
  for (const auto& [op, params] : computing) {
    CAPTURE(op);
    const auto bound = bind_op(op, params);
    CHECK(bound.value()->work() == op_work::computes);
    CHECK(bound.value()->cost_ns(1'000'000) > 100 * bound.value()->cost_ns(100));
  }
  CHECK(bind_op("core::take", R"({"count":5})").value()->cost_ns(1'000'000) < 1000);
  CHECK(bind_op("test::busy_cpu", R"({"busy_wait_ms":3})").value()->cost_ns(0) == 3e6);
  CHECK(bind_op("test::fixed_source", R"({"row_count":5000})").value()->cost_ns(0) >= 1000);
}

TEST_CASE("viewer gives one row: the user of the request, with the country") {
  social_bench bench;
  const row_set rows = bench.rows("core::viewer", first_store);
  CHECK((ids_of(rows) == ids{7}));
  CHECK((countries_of(rows) == lines{""}));
  CHECK((bench.store.asked == lines{"hget user:7"}));
  bench.store.hashes.clear();
  CHECK((countries_of(bench.rows("core::viewer", first_store)) == lines{"null"}));
}

TEST_CASE("follow gives the lists of the rows in their order, each id with its country, in two batches") {
  social_bench bench;
  const row_set rows = bench.rows("core::follow", from_list(3), {bench.rows_of({2, 1, 9, 3})});
  CHECK((ids_of(rows) == ids{1, 1, 2, 3}));
  CHECK((countries_of(rows) == lines{"US", "US", "CA", "null"}));
  CHECK((bench.store.asked == lines{"lrange 3 follow:1 follow:2 follow:3 follow:9", "hget user:1 user:2 user:3"}));
}

TEST_CASE("a fanout larger than the lists gives all of them, and malformed ids are counted and skipped") {
  social_bench bench;
  const row_set rows = bench.rows("core::follow", from_list(10'000'000), {bench.rows_of({1, 2})});
  CHECK((ids_of(rows) == ids{1, 2, 3, 4, 1, 2}));
  CHECK(bench.malformed_ids == 3);
  CHECK((countries_of(rows) == lines{"US", "CA", "null", "null", "US", "CA"}));
  bench.rows("core::follow", from_list(1), {bench.rows_of({1, 2})});
  CHECK(bench.malformed_ids == 0);
}

TEST_CASE("a row that occurs more than once is asked for once and answered each time") {
  social_bench bench;
  const row_set rows = bench.rows("core::follow", from_list(2), {bench.rows_of({2, 1, 2, 1})});
  CHECK((ids_of(rows) == ids{1, 1, 2, 1, 1, 2}));
  CHECK((bench.store.asked == lines{"lrange 2 follow:1 follow:2", "hget user:1 user:2"}));
  CHECK(bench.malformed_ids == 1);
}

TEST_CASE("only active rows are followed, in the current order, and other columns are dropped") {
  social_bench bench;
  row_set input = bench.rows_of({1, 2, 3});
  input = bench.with<double>(input, 1001, {1.0, 2.0, 3.0});
  const std::vector<std::uint32_t> order{1, 0};
  const row_set rows = bench.rows("core::follow", from_list(1), {row_set(input.table(), order)});
  CHECK((ids_of(rows) == ids{1, 1}));
  CHECK((bench.store.asked.front() == "lrange 1 follow:1 follow:2"));
  REQUIRE(rows.table().columns().size() == 1);
  CHECK(rows.table().columns().front().key_id == country_key);
  CHECK(rows.is_prefix());
}

TEST_CASE("without rows there is nothing to ask and nothing comes out") {
  social_bench bench;
  for (const char* op : {"core::follow", "core::recommendation", "core::media"}) {
    CAPTURE(op);
    CHECK(bench.rows(op, from_list(5), {bench.rows_of({})}).empty());
    CHECK(bench.rows(op, from_list(5), {bench.rows_of({1, 2}).take(0)}).empty());
  }
  CHECK(bench.store.asked.empty());
  CHECK(bench.rows("core::follow", from_list(5), {bench.rows_of({3, 9})}).empty());
  CHECK((bench.store.asked == lines{"lrange 5 follow:3 follow:9"}));
}

TEST_CASE("recommendation reads lists of its own") {
  social_bench bench;
  const row_set rows = bench.rows("core::recommendation", from_list(5), {bench.rows_of({1, 2})});
  CHECK((ids_of(rows) == ids{2, 2}));
  CHECK((countries_of(rows) == lines{"CA", "CA"}));
  CHECK((bench.store.asked == lines{"lrange 5 recommendation:1 recommendation:2", "hget user:2"}));
}

TEST_CASE("media gives ids and asks for nothing else") {
  social_bench bench;
  const row_set rows = bench.rows("core::media", from_list(5), {bench.rows_of({2, 1})});
  CHECK((ids_of(rows) == ids{501, -502}));
  CHECK(rows.table().columns().empty());
  CHECK((bench.store.asked == lines{"lrange 5 media:1 media:2"}));
}

namespace {

constexpr std::uint32_t score_key = 1001;
constexpr std::uint32_t count_key = 1501;
constexpr std::uint32_t fresh_key = 1502;
constexpr std::uint32_t final_key = 2001;

auto fetching(const std::string& more) -> std::string { return R"({"endpoint":"ep_0001",)" + more + "}"; }

using fields = std::map<std::uint32_t, cell>;

auto list_fields(const row_set& rows) -> std::vector<fields> {
  std::vector<fields> out;
  for (const model_row& row : rankd::testing::rows_of(rows)) out.push_back(row.fields);
  return out;
}

}  // namespace

TEST_CASE("features become columns of the types of their keys, by one batch, each hash once") {
  op_bench bench;
  bench.store.hashes["features:1"] = {{"count", "-7"}, {"country", "\xff"}, {"fresh", "true"}, {"score", "2.5e-1"}};
  bench.store.hashes["features:2"] = {{"count", "9223372036854775807"}, {"fresh", "0"}, {"other", "1"}};
  const row_set rows =
      bench.rows("core::fetch_features", fetching(R"("keys":[1001,3001,1501,1502])"), {bench.rows_of({2, 1, 9, 2})});
  const fields first{
      {score_key, 0.25}, {count_key, std::int64_t{-7}}, {fresh_key, true}, {country_key, std::string("\xff")}};
  const fields second{{count_key, std::int64_t{9223372036854775807}}, {fresh_key, false}};
  CHECK((ids_of(rows) == ids{2, 1, 9, 2}));
  CHECK((list_fields(rows) == std::vector<fields>{second, first, {}, second}));
  CHECK(bench.malformed_values == 0);
  CHECK((bench.store.asked == lines{"hgetall features:1 features:2 features:9"}));
}

TEST_CASE("a single feature is asked for alone, from the hash and by the key that the plan names") {
  op_bench bench;
  bench.store.hashes["user:5"] = {{"score", "1"}};
  bench.store.hashes["user:-6"] = {{"score", "2"}};
  row_set input = bench.with<std::int64_t>(bench.rows_of({1, 2, 3, 4}), count_key, {5, std::nullopt, -6, 5});
  input = row_set(input.table(),
                  bench.memory().copied(std::span<const std::uint32_t>(std::vector<std::uint32_t>{2, 1, 0})));
  const row_set rows =
      bench.rows("core::fetch_features", fetching(R"("keys":[1001],"hash":"user","by":1501)"), {input});
  CHECK((ids_of(rows) == ids{3, 2, 1}));
  const auto scores = *rows.table().find(score_key);
  CHECK((cell_of(scores, 2) == cell(2.0)));
  CHECK((cell_of(scores, 1) == cell()));
  CHECK((cell_of(scores, 0) == cell(1.0)));
  CHECK((cell_of(scores, 3) == cell()));  // not active
  CHECK((bench.store.asked == lines{"hget user:-6 user:5"}));

  // Without the column no row names a hash.
  const row_set none = bench.rows("core::fetch_features", fetching(R"("keys":[1001],"by":1501)"), {bench.rows_of({1})});
  CHECK((list_fields(none) == std::vector<fields>{{}}));
  CHECK(bench.store.asked.size() == 1);
}

TEST_CASE("what is missing is null, or the default of a key that is not nullable") {
  op_bench bench;
  bench.store.hashes["features:1"] = {{"final_score", "3"}};
  const row_set rows =
      bench.rows("core::fetch_features", fetching(R"("keys":[2001,1501])"), {bench.rows_of({1, 2}).take(2)});
  CHECK((list_fields(rows) == std::vector<fields>{{{final_key, 3.0}}, {{final_key, 0.0}}}));
  const row_set none =
      bench.rows("core::fetch_features", fetching(R"("keys":[2001,1501])"), {bench.rows_of({1}).take(0)});
  CHECK(none.empty());
  CHECK(none.table().columns().size() == 2);
  CHECK(bench.store.asked.size() == 1);

  // The second row names no hash.
  const row_set unnamed = bench.with<std::int64_t>(bench.rows_of({5, 6}), count_key, {1, std::nullopt});
  const row_set by = bench.rows("core::fetch_features", fetching(R"("keys":[2001],"by":1501)"), {unnamed});
  const auto finals = *by.table().find(final_key);
  CHECK((cell_of(finals, 0) == cell(3.0)));
  CHECK((cell_of(finals, 1) == cell(0.0)));
}

TEST_CASE("values that are none of their type count as missing, once for each hash, and are told") {
  op_bench bench;
  const std::vector<std::pair<std::string, lines>> bad{
      {"score", {"", " 1", "1 ", "x", "nan", "inf", "-inf", "1e400", "+1", "0x1", "1,5"}},
      {"count", {"", "1.0", "+1", " 1", "9223372036854775808", "1e3"}},
      {"fresh", {"", "yes", "True", "2", "01"}}};
  for (const auto& [name, values] : bad) {
    CAPTURE(name);
    for (const std::string& value : values) {
      CAPTURE(value);
      bench.store.hashes["features:1"] = {{name, value}};
      const row_set rows =
          bench.rows("core::fetch_features", fetching(R"("keys":[1001,1501,1502])"), {bench.rows_of({1, 1, 2})});
      CHECK((list_fields(rows) == std::vector<fields>{{}, {}, {}}));
      CHECK(bench.malformed_values == 1);
    }
  }
  bench.store.hashes["features:1"] = {{"score", "-0"}, {"count", "007"}};
  const row_set right = bench.rows("core::fetch_features", fetching(R"("keys":[1001,1501])"), {bench.rows_of({1})});
  CHECK((list_fields(right) == std::vector<fields>{{{score_key, -0.0}, {count_key, std::int64_t{7}}}}));
  CHECK(bench.malformed_values == 0);
}

TEST_CASE("a store that refuses, and one that is not open, are errors of the node") {
  social_bench bench;
  bench.store.refusal = store_errc::wrong_type;
  const row_set input = bench.rows_of({1});
  const std::vector<std::pair<std::string, std::string>> ops{
      {"core::viewer", R"({"endpoint":"EP"})"},
      {"core::follow", R"({"endpoint":"EP","fanout":1})"},
      {"core::media", R"({"endpoint":"EP","fanout":1})"},
      {"core::fetch_features", R"({"endpoint":"EP","keys":[1001]})"},
      {"core::fetch_features", R"({"endpoint":"EP","keys":[1001,1501]})"}};
  for (const auto& [op, params] : ops) {
    const auto with_endpoint = [&params](const char* endpoint) {
      return std::string(params).replace(params.find("EP"), 2, endpoint);
    };
    CAPTURE(op);
    const auto refused = bench.run(*bind_op(op, with_endpoint("ep_0001")).value(), {input});
    CHECK(error_of(refused).starts_with("store_error: the store refused to answer: "));
    const auto closed = bench.run(*bind_op(op, with_endpoint("ep_0003")).value(), {input});
    CHECK(error_of(closed).starts_with("store_not_open: "));
  }
}

TEST_CASE("the operators of tests give known rows") {
  op_bench bench;
  CHECK((ids_of(bench.rows("test::fixed_source", "{}")) == ids{1}));
  CHECK((ids_of(bench.rows("test::fixed_source", R"({"row_count":3})")) == ids{1, 2, 3}));
  CHECK(bench.rows("test::fixed_source", R"({"row_count":0})").empty());

  const row_set view = bench.rows_of({5, 6, 7}).take(2);
  const row_set same = bench.rows("test::busy_cpu", R"({"busy_wait_ms":0})", {view});
  CHECK(same.table().ids().data() == view.table().ids().data());
  CHECK((ids_of(same) == ids{5, 6}));

  static_cast<void>(bench.stop.request(braid::errc::stopped));
  const auto stopped = bench.run(*bind_op("test::busy_cpu", R"({"busy_wait_ms":3600000})").value(), {view});
  CHECK(error_of(stopped).starts_with("stopped: "));
}
