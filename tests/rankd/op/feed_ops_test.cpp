// tests/rankd/op/feed_ops_test.cpp: the operators that look at a list as a whole: aggregate, diversify, rank_fusion,
// sample.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <cstdint>
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
using ids = std::vector<std::int64_t>;
using floats = std::vector<std::optional<double>>;
using texts = std::vector<std::optional<std::string_view>>;

auto floats_of(const row_set& rows, std::uint32_t key) -> floats {
  floats out;
  const column values = rows.table().find(key).value();
  rows.for_each_row([&](std::uint32_t row) {
    out.push_back(values.is_null(row) ? std::nullopt : std::optional((*values.floats())[row]));
  });
  return out;
}

/// Eight rows of three countries, one without, in an order that is not that of the batch.
struct feed_bench : op_bench {
  row_set rows;

  feed_bench() {
    const row_set table = with<std::string_view>(rows_of({8, 7, 6, 5, 4, 3, 2, 1}), country,
                                                 {"DE", std::nullopt, "CA", "US", "CA", "US", "US", "US"});
    rows = with<std::int64_t>(table, count, {5, 5, 5, 7, std::nullopt, 7, 9, 5});
    const std::vector<std::uint32_t> order{7, 6, 5, 4, 3, 2, 1, 0};
    rows = row_set(rows.table(), memory().copied(std::span<const std::uint32_t>(order)));
  }

  auto diversified(const std::string& more) -> ids {
    return ids_of(this->op_bench::rows("core::diversify", "{" + more + "}", {rows}));
  }
};

}  // namespace

TEST_CASE("diversify lets at most so many rows of a value stand in a window, and moves the others down") {
  feed_bench bench;
  const std::string window = R"("strategy":"window","by":3001,"at_most":1,"window":2)";
  CHECK((bench.diversified(window) == ids{1, 4, 2, 6, 3, 7, 5, 8}));
  CHECK((bench.diversified(window + R"(,"overflow":"later")") == ids{1, 4, 2, 6, 3, 7, 5, 8}));
  CHECK((bench.diversified(window + R"(,"overflow":"drop")") == ids{1, 4, 5, 6, 7, 8}));
}

TEST_CASE("diversify without a window gives the first rows of each value, and all without one") {
  feed_bench bench;
  CHECK((bench.diversified(R"("strategy":"window","by":3001,"at_most":2,"overflow":"drop")") == ids{1, 2, 4, 6, 7, 8}));
  CHECK((bench.diversified(R"("strategy":"window","by":3001,"at_most":2)") == ids{1, 2, 4, 6, 7, 8, 3, 5}));
  CHECK((bench.diversified(R"("strategy":"window","by":3002,"at_most":1,"overflow":"drop")") ==
         ids{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_CASE("a quota gives the rows with some values every so many positions") {
  feed_bench bench;
  const std::string quota = R"("strategy":"quota","by":3001,"values":["CA","DE"],)";
  CHECK((bench.diversified(quota + R"("every_nth":3)") == ids{1, 2, 4, 3, 5, 6, 7, 8}));
  CHECK((bench.diversified(quota + R"("every_nth":2,"first":1)") == ids{4, 1, 6, 2, 8, 3, 5, 7}));
  CHECK((bench.diversified(quota + R"("every_nth":9,"first":2,"overflow":"drop")") == ids{1, 4, 2, 3, 5, 7}));
  CHECK((bench.diversified(R"("strategy":"quota","by":1501,"values":[9,7],"every_nth":2)") ==
         ids{1, 2, 4, 3, 6, 5, 7, 8}));
  // Values that no row has, and a column that is not there.
  CHECK((bench.diversified(R"("strategy":"quota","by":3001,"values":["FR"],"every_nth":1)") ==
         ids{1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK((bench.diversified(R"("strategy":"quota","by":3002,"values":["CA"],"every_nth":1,"overflow":"drop")") ==
         ids{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_CASE("an aggregate is a number for all rows, or for those with the same value; a null is a group of its own") {
  feed_bench bench;
  const auto made = [&](const std::string& params) {
    return floats_of(bench.op_bench::rows("core::aggregate", params, {bench.rows}), score);
  };
  CHECK((made(R"({"of":"count","out_key":1001})") == floats(8, 8.0)));
  CHECK((made(R"({"of":"count","per":3001,"out_key":1001})") == floats{4, 4, 4, 2, 4, 2, 1, 1}));
  CHECK((made(R"({"of":"sum","key":1501,"out_key":1001})") == floats(8, 43.0)));
  CHECK((made(R"({"of":"sum","key":1501,"per":3001,"out_key":1001})") == floats{28, 28, 28, 5, 28, 5, 5, 5}));
  CHECK((made(R"({"of":"mean","key":1501,"per":3001,"out_key":1001})") == floats{7, 7, 7, 5, 7, 5, 5, 5}));
  CHECK((made(R"({"of":"min","key":1501,"per":3001,"out_key":1001})") == floats{5, 5, 5, 5, 5, 5, 5, 5}));
  CHECK((made(R"({"of":"max","key":1501,"per":3001,"out_key":1001})") == floats{9, 9, 9, 5, 9, 5, 5, 5}));
  CHECK((made(R"({"of":"max","key":1,"per":3002,"out_key":1001})") == floats{1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK((made(R"({"of":"max","key":2001,"out_key":1001})") == floats(8, std::nullopt)));
}

TEST_CASE("an aggregate that the key may not have is an error that names the row") {
  feed_bench bench;
  const auto error = [&](const std::string& params, const row_set& rows) {
    const auto result = bench.run(*bind_op("core::aggregate", params).value(), {rows});
    return result ? std::string("none") : result.error().code + ": " + result.error().message;
  };
  CHECK(error(R"({"of":"sum","key":1501,"per":1,"out_key":2001})", bench.rows) ==
        "null_value: the sum for `final_score` of row 4 (id 4) is null, which the key does not allow");
  const row_set huge = bench.with<double>(bench.rows_of({1, 2}), score, {1.5e308, 1.5e308});
  CHECK(error(R"({"of":"sum","key":1001,"out_key":2001})", huge).starts_with("non_finite_value: the sum for "));
  CHECK(error(R"({"of":"max","key":1001,"out_key":2001})", huge) == "none");
}

TEST_CASE("rank fusion adds the reciprocal ranks of an id over the lists that have it, each list once") {
  feed_bench bench;
  row_set rows = bench.with<std::string_view>(bench.rows_of({1, 2, 3, 3, 1, 4, 1, 5}), country,
                                              {"a", "a", "a", "b", "b", "b", "b", std::nullopt});
  const row_set fused = bench.op_bench::rows("core::rank_fusion", R"({"by":3001,"out_key":1001})", {rows});
  CHECK((ids_of(fused) == ids{1, 2, 3, 4, 5}));
  CHECK((floats_of(fused, score) == floats{1.0 / 61 + 1.0 / 62, 1.0 / 62, 1.0 / 63 + 1.0 / 61, 1.0 / 63, 0.0}));
  const row_set sharp = bench.op_bench::rows("core::rank_fusion", R"({"by":3001,"k":0,"out_key":1001})", {rows});
  CHECK((floats_of(sharp, score) == floats{1.5, 0.5, 1.0 / 3 + 1, 1.0 / 3, 0.0}));
  const row_set none = bench.op_bench::rows("core::rank_fusion", R"({"by":3002,"out_key":1001})", {rows.take(2)});
  CHECK((floats_of(none, score) == floats{0.0, 0.0}));
}

TEST_CASE("a sample is the same for the same seed and ids, whatever stands around them, and keeps the order") {
  feed_bench bench;
  const auto sampled = [&](const std::string& seed, std::size_t rows) {
    return ids_of(
        bench.op_bench::rows("core::sample", R"({"count":3,"seed":")" + seed + "\"}", {bench.rows.take(rows)}));
  };
  CHECK((sampled("a", 8) == ids{1, 2, 4}));
  CHECK((sampled("a", 5) == ids{1, 2, 4}));
  CHECK((sampled("a", 3) == ids{1, 2, 3}));
  CHECK((sampled("b", 8) == ids{4, 6, 8}));
  CHECK((sampled("{P.pattern}", 8).size() == 3));
}

TEST_CASE("a sample is drawn from every row alike") {
  op_bench bench;
  std::vector<std::size_t> drawn(20, 0);
  row_set rows = bench.rows_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  for (std::size_t seed = 0; seed < 1000; ++seed)
    for (const std::int64_t id :
         ids_of(bench.rows("core::sample", R"({"count":5,"seed":"s)" + std::to_string(seed) + "\"}", {rows})))
      ++drawn[static_cast<std::size_t>(id)];
  for (const std::size_t each : drawn) CHECK((each > 190 && each < 310));
}

TEST_CASE("concat says from which side a row is, unless the row says where it is from") {
  op_bench bench;
  const std::string params = R"({"rhs":"right","out_key":3002,"sources":["left","right"]})";
  const auto sources = [&](const row_set& rows) {
    texts out;
    const column values = rows.table().find(3002).value();
    rows.for_each_row([&](std::uint32_t row) {
      out.push_back(values.is_null(row) ? std::nullopt : std::optional((*values.strings())[row]));
    });
    return out;
  };
  const row_set once = bench.rows("core::concat", params, {bench.rows_of({1, 2}).take(1), bench.rows_of({3, 1})});
  CHECK((ids_of(once) == ids{1, 3, 1}));
  CHECK((sources(once) == texts{"left", "right", "right"}));
  const row_set some = bench.with<std::string_view>(bench.rows_of({7, 8}), 3002, {"old", std::nullopt});
  const std::string other = R"({"rhs":"right","out_key":3002,"sources":["right","new"]})";
  CHECK((sources(bench.rows("core::concat", other, {once, some})) == texts{"left", "right", "right", "old", "new"}));
  CHECK(sources(bench.rows("core::concat", params, {row_set(), row_set()})).empty());
}
