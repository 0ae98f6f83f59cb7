// tests/rankd/server/captured_copy_test.cpp: captured rows out of the memory of their request.
#include <rankd/server/sinks/captured_copy.hpp>

#include <tests/rankd/server/captured_sets.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

TEST_CASE("a copy has the values of the active rows, in their order, and outlives them") {
  captured_copy copy;
  {
    braid::arena memory;
    column_builder<std::int64_t> values(memory, 3);
    values.push(10);
    values.push_null();
    values.push(30);
    const std::vector<std::int64_t> ids{1, 2, 3};
    const std::vector<std::uint32_t> order{2, 1};
    const key_entry key = key_named(int_key, "count");
    captured_rows what;
    what.node = "n";
    what.rows = row_set(batch(ids).with_column(int_key, values.finish(), memory), order);
    what.keys = {&key};
    what.cut = 1;
    request_record record;
    record.request_id = "r";
    copy = make_copy({record, std::chrono::milliseconds(5), "p", "d", redaction()}, what);
  }
  CHECK(copy.request_id == "r");
  CHECK(copy.time.count() == 5);
  CHECK(copy.has_rows);
  CHECK(copy.rows == 2);
  CHECK(copy.cut == 1);
  REQUIRE(copy.columns.size() == 2);
  CHECK(copy.columns[0].key.name == "id");
  CHECK(copy.columns[0].present.empty());
  std::vector<std::int64_t> ids(2);
  REQUIRE(copy.columns[0].values.size() == 16);
  std::memcpy(ids.data(), copy.columns[0].values.data(), 16);
  CHECK(ids == std::vector<std::int64_t>{3, 2});
  CHECK(copy.columns[1].present == std::vector<bool>{true, false});
  CHECK(copy.bytes() > 32);
}

TEST_CASE("a node without rows has none, and a request without an id that may be seen has none") {
  captured_rows what;
  what.state = node_state::failed;
  what.failure = "store_down";
  request_record record;
  record.request_id = "r";
  const redaction hidden = redaction::make({"request_id"}, registries()).value();
  const captured_copy copy = make_copy({record, std::chrono::milliseconds(5), "p", "d", hidden}, what);
  CHECK_FALSE(copy.has_rows);
  CHECK(copy.columns.empty());
  CHECK(copy.code == "store_down");
  CHECK_FALSE(copy.request_id.has_value());
}
