// tests/rankd/op/at_least_test.cpp: too few rows are a failure, for which a fallback can provide others.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

TEST_CASE("at_least passes its rows on, or fails and says how many there were") {
  op_bench bench;
  const row_set rows = bench.rows_of({3, 1, 2});
  CHECK((ids_of(bench.rows("core::at_least", R"({"count":3})", {rows})) == std::vector<std::int64_t>{3, 1, 2}));
  const auto few = bench.run(*bind_op("core::at_least", R"({"count":4})").value(), {rows});
  REQUIRE_FALSE(few.has_value());
  CHECK(few.error().code == "too_few_rows");
  CHECK(few.error().message == "the input has 3 rows; `count` requires at least 4");
  CHECK((diagnostics("core::at_least", R"({"count":0})") == lines{"out_of_range /nodes/2/params/count"}));
}
