// tests/rankd/op/int_and_bool_columns_test.cpp: what vm writes under keys of ints and strings, and flag under one of
// bools.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::bind_op;
using rankd::testing::op_bench;

TEST_CASE("vm fills a key of ints with exact integers, and flag a key of bools") {
  const auto ref = [](int id) { return R"({"op":"key_ref","key_id":)" + std::to_string(id) + "}"; };
  op_bench bench;
  const row_set rows = bench.rows_of({9'007'199'254'740'993, 4, 7});
  const auto count = bind_op("core::vm", R"({"expr_id":"e","out_key":1501})",
                             R"({"op":"mod","a":)" + ref(1) + R"(,"b":{"op":"const_number","value":10}})",
                             R"({"op":"const_bool","value":true})", R"(["cap.rfc.0006.formulas.v1"])");
  CAPTURE(count ? std::string() : count.error().front().message);
  REQUIRE(count.has_value());
  const row_set counted = bench.run(**count, {rows}).value();
  const column counts = counted.table().find(1501).value();
  REQUIRE(counts.integers() != nullptr);
  CHECK((*counts.integers())[0] == 3);
  CHECK((*counts.integers())[2] == 7);
  const auto flag = bind_op("core::flag", R"({"out_key":1502,"pred_id":"p"})", R"({"op":"const_null"})",
                            R"({"op":"cmp","cmp":"==","a":)" + ref(1501) + R"(,"b":{"op":"const_number","value":4}})");
  REQUIRE(flag.has_value());
  const row_set flagged = bench.run(**flag, {counted}).value();
  const column flags = flagged.table().find(1502).value();
  REQUIRE(flags.booleans() != nullptr);
  CHECK_FALSE((*flags.booleans())[0]);
  CHECK((*flags.booleans())[1]);
  const row_set fewer =
      bench
          .run(**flag, {bench
                            .run(**bind_op("core::filter", R"({"pred_id":"p"})", R"({"op":"const_null"})",
                                           R"({"op":"cmp","cmp":">","a":)" + ref(1) +
                                               R"(,"b":{"op":"const_number","value":5}})"),
                                 {counted})
                            .value()})
          .value();
  const column of_fewer = fewer.table().find(1502).value();
  CHECK(of_fewer.is_null(1));
  CHECK_FALSE(of_fewer.is_null(2));
}

TEST_CASE("vm fills a key of strings, with nulls where its key allows them") {
  op_bench bench;
  const row_set rows = bench.rows_of({4, 7, 8});
  const std::string big =
      R"({"op":"cmp","cmp":">","a":{"op":"key_ref","key_id":1},"b":{"op":"const_number","value":5}})";
  const std::string named =
      R"({"op":"if","pred":)" + big +
      R"(,"a":{"op":"concat","a":{"op":"const_text","value":"b"},"b":{"op":"const_text","value":"ig"}},)" +
      R"("b":{"op":"const_null"}})";
  const auto vm = bind_op("core::vm", R"({"expr_id":"e","out_key":3001})", named, R"({"op":"const_bool","value":true})",
                          R"(["cap.rfc.0001.arithmetic.v1","cap.rfc.0006.formulas.v1"])");
  REQUIRE(vm.has_value());
  const row_set made = bench.run(**vm, {rows}).value();
  const column texts = made.table().find(3001).value();
  REQUIRE(texts.strings() != nullptr);
  CHECK(texts.is_null(0));
  CHECK((*texts.strings())[1] == "big");
  CHECK((*texts.strings())[2] == "big");
  CHECK(texts.strings()->words->size() == 1);
  // Of rows in an order of their own, and a part of them.
  const std::vector<std::uint32_t> order{2, 0};
  const column fewer = bench.run(**vm, {row_set(rows.table(), order)}).value().table().find(3001).value();
  CHECK(fewer.is_null(0));
  CHECK(fewer.is_null(1));
  CHECK((*fewer.strings())[2] == "big");
}
