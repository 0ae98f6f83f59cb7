// tests/rankd/op/feed_ops_test.cpp: the operators that look at a list as a whole: diversify.
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

constexpr std::uint32_t count = 1501;
constexpr std::uint32_t country = 3001;
using ids = std::vector<std::int64_t>;

/// Eight rows of three countries, one without, in an order that is not that of the batch.
struct feed_bench : op_bench {
  row_set rows;

  feed_bench() {
    const row_set table = with<std::string_view>(
        rows_of({8, 7, 6, 5, 4, 3, 2, 1}), country, {"DE", std::nullopt, "CA", "US", "CA", "US", "US", "US"});
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
  CHECK((bench.diversified(R"("strategy":"window","by":3001,"at_most":2,"overflow":"drop")") ==
         ids{1, 2, 4, 6, 7, 8}));
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
