// tests/rankd/op/jitter_test.cpp: noise that depends on the seed and the id of a row, and on nothing else.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::uint32_t score = 1001;
constexpr std::uint32_t count = 1501;
constexpr std::uint32_t country = 3001;
using floats = std::vector<std::optional<double>>;

auto floats_of(const row_set& rows, std::uint32_t key) -> floats {
  floats out;
  const column values = rows.table().find(key).value();
  rows.for_each_row([&](std::uint32_t row) {
    out.push_back(values.is_null(row) ? std::nullopt : std::optional((*values.floats())[row]));
  });
  return out;
}

auto options(const std::string& amount, const std::string& seed, std::uint32_t key = score, std::uint32_t out = score)
    -> std::string {
  return R"({"key":)" + std::to_string(key) + R"(,"amount":)" + amount + R"(,"seed":")" + seed + R"(","out_key":)" +
         std::to_string(out) + "}";
}

struct jitter_bench : op_bench {
  auto made(const row_set& rows, const std::string& params, std::uint32_t key = score) -> floats {
    return floats_of(op_bench::rows("core::jitter", params, {rows}), key);
  }

  auto error(const row_set& rows, const std::string& params) -> std::string {
    const auto result = run(*bind_op("core::jitter", params).value(), {rows});
    return result ? std::string("none") : result.error().code + ": " + result.error().message;
  }

  auto of_ids(std::initializer_list<std::int64_t> ids, double value = 0) -> row_set {
    const std::size_t size = ids.size();
    return with<double>(rows_of(ids), score, std::vector<std::optional<double>>(size, value));
  }
};

}  // namespace

TEST_CASE("noise is the same for a seed and an id, whatever rows stand beside it and in which order") {
  jitter_bench bench;
  const floats some = bench.made(bench.of_ids({7, 8, 9}), options("1", "a"));
  // These are what tests/oracle/draws.py gives.
  CHECK((some == floats{0x1.230ffe24p-1, -0x1.34b547p-1, 0x1.f5cd358p-5}));
  const floats other = bench.made(bench.of_ids({9, 1, 7, 9}), options("1", "a"));
  CHECK((other[2] == some[0]));
  CHECK((other[0] == some[2]));
  CHECK((other[3] == some[2]));
  CHECK((bench.made(bench.of_ids({7, 8, 9}), options("1", "b"))[0] != some[0]));
}

TEST_CASE("noise is spread over the amount, and an amount of zero adds none") {
  jitter_bench bench;
  const row_set rows = bench.rows("test::fixed_source", R"({"row_count":8000})");
  const row_set zeros = bench.with<double>(rows, score, std::vector<std::optional<double>>(rows.size(), 0.0));
  std::vector<double> made;
  for (const std::optional<double>& each : bench.made(zeros, options("4", "spread"))) made.push_back(*each);
  std::ranges::sort(made);
  CHECK(made.front() >= -4);
  CHECK(made.back() < 4);
  for (int part = 1; part < 8; ++part) {
    const auto below = std::ranges::lower_bound(made, part - 4.0) - made.begin();
    CHECK(std::abs(below - 1000 * part) < 150);
  }
  CHECK((bench.made(zeros, options("0", "spread")) == floats(rows.size(), 0.0)));
}

TEST_CASE("rows that a sample keeps by the same seed have noise of both signs") {
  jitter_bench bench;
  const row_set rows = bench.rows("test::fixed_source", R"({"row_count":20000})");
  const row_set kept = bench.rows("core::sample", R"({"count":100,"seed":"visit"})", {rows});
  const row_set zeros = bench.with<double>(kept, score, std::vector<std::optional<double>>(rows.size(), 0.0));
  const floats made = bench.made(zeros, options("1", "visit"));
  const auto above = std::ranges::count_if(made, [](const std::optional<double>& each) { return *each > 0; });
  CHECK(above > 25);
  CHECK(above < 75);
}

TEST_CASE("ints become floats; rows without a value keep none, and a key that no row has gives none") {
  jitter_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({7, 8, 9}), count, {10, std::nullopt, -10});
  const floats made = bench.made(rows, options("0.5", "a", count));
  CHECK((*made[0] > 9.5 && *made[0] < 10.5));
  CHECK((made[1] == std::nullopt));
  CHECK((*made[2] > -10.5 && *made[2] < -9.5));
  CHECK((bench.made(rows, options("0.5", "a", score)) == floats(3, std::nullopt)));
  CHECK(bench.error(rows, options("0.5", "a", count, 2001)) ==
        "null_value: the value for `final_score` of row 1 (id 8) is null, which the key does not allow");
  // A row that is not active is not looked at.
  rows = rows.take(1);
  CHECK((bench.made(rows, options("0.5", "a", count, 2001), 2001) == floats{made[0]}));
}

TEST_CASE("the sum is finite for every value and every amount that is allowed") {
  jitter_bench bench;
  for (const double value : {1.7976931348623157e308, -1.7976931348623157e308})
    CHECK((bench.made(bench.of_ids({7, 8}, value), options("1e9", "a")) == floats{value, value}));
}

TEST_CASE("a seed has values of the request and of rows; a row whose seed has a null has the noise of an empty seed") {
  jitter_bench bench;
  const row_set rows =
      bench.with<std::string_view>(bench.of_ids({7, 7, 7, 7, 7}), country, {"DE", "CA", "CA", "DE", std::nullopt});
  const floats made = bench.made(rows, options("1", "{country}"));
  CHECK((made[0] == made[3]));
  CHECK((made[1] == made[2]));
  CHECK((made[0] != made[1]));
  CHECK((made[0] == bench.made(bench.of_ids({7}), options("1", "DE"))[0]));
  CHECK((made[4] == -0.8799571464769542));  // as tests/oracle/draws.py gives it
}

TEST_CASE("a request gives the amount, between the bounds of the option") {
  jitter_bench bench;
  const auto bound =
      bind_op("core::jitter", R"({"key":1001,"amount":{"param_id":1,"min":0.0,"max":8.0},"seed":"a","out_key":1001})",
              R"({"op":"const_null"})", R"({"op":"const_bool","value":true})", R"(["cap.rfc.0003.bound_params.v1"])");
  REQUIRE(bound.has_value());
  const row_set rows = bench.of_ids({7});
  const double one = *bench.made(rows, options("1", "a"))[0];
  for (const double amount : {0.0, 2.0, 8.0}) {
    bench.params[op_world().index_of(*op_world().find_param("weight"))] = amount;
    CHECK((floats_of(bench.run(**bound, {rows}).value(), score) == floats{amount * one}));
  }
}

TEST_CASE("options of a jitter that make no sense are refused") {
  const auto refused = [](const std::string& params) {
    const auto bound = bind_op("core::jitter", params);
    return bound ? std::string("none") : bound.error().begin()->code;
  };
  CHECK(refused(options("1", "a")) == "none");
  CHECK(refused(options("1000000000", "{P.pattern}:{id}", count)) == "none");
  CHECK(refused(options("-0.5", "a")) == "out_of_range");
  CHECK(refused(options("1.5e9", "a")) == "out_of_range");
  CHECK(refused(options("1", "a", country)) == "wrong_key_type");
  CHECK(refused(options("1", "a", score, count)) == "wrong_key_type");
  CHECK(refused(options("1", "{nothing}")) == "unknown_key");
  CHECK(refused(R"({"key":1001,"amount":1,"out_key":1001})") == "missing_field");
}
