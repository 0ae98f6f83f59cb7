// tests/rankd/rows/batch_test.cpp: columns side by side.
#include <rankd/rows/batch.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::int64_t, 2> ids{10, 20};
constexpr std::array<double, 2> values{1, 2};
constexpr std::array<double, 2> others{3, 4};

auto floats(const std::array<double, 2>& of) -> column {
  return {.values = std::span<const double>(of), .validity = {}};
}

}  // namespace

TEST_CASE("the id is a column of integers without nulls") {
  const batch table(ids);
  const auto id = table.find(1);
  REQUIRE(id.has_value());
  CHECK(id->integers()->data() == ids.data());
  CHECK(id->validity.all_set());
  CHECK(table.columns().empty());
}

TEST_CASE("ids that are texts are a column of strings") {
  braid::arena memory;
  column_builder<std::string_view> names(memory, 2);
  names.push("b");
  names.push("a");
  const column made = names.finish();
  const batch table = batch(*made.strings()).with_column(1001, floats(values), memory);
  CHECK(table.size() == 2);
  CHECK((*table.find(1)->strings())[0] == "b");
  CHECK(table.id(1) == row_id("a"));
  CHECK(table.with_only({}).columns().empty());
  CHECK(table.with_only({}).id(0) == row_id("b"));
  CHECK_FALSE(batch(ids).text_ids().has_value());
  CHECK(batch(ids).id(1) == row_id(20));
}

TEST_CASE("a missing column is nothing") {
  CHECK_FALSE(batch(ids).find(1001).has_value());
  CHECK_FALSE(batch().find(1001).has_value());
  CHECK(batch().size() == 0);
}

TEST_CASE("columns stay sorted by key whatever the order in which they come") {
  braid::arena memory;
  batch table(ids);
  for (const std::uint32_t key : {3001U, 1001U, 2001U}) table = table.with_column(key, floats(values), memory);
  REQUIRE(table.columns().size() == 3);
  CHECK(table.columns()[0].key_id == 1001);
  CHECK(table.columns()[1].key_id == 2001);
  CHECK(table.columns()[2].key_id == 3001);
  CHECK(table.find(2001).has_value());
  CHECK_FALSE(table.find(2002).has_value());
}

TEST_CASE("a column of the same key is replaced, and the first batch keeps its own") {
  braid::arena memory;
  const batch first = batch(ids).with_column(1001, floats(values), memory).with_column(1002, floats(values), memory);
  const batch second = first.with_column(1001, floats(others), memory);
  CHECK(second.columns().size() == 2);
  CHECK((*second.find(1001)->floats())[0] == 3);
  CHECK((*first.find(1001)->floats())[0] == 1);
}

TEST_CASE("a batch with one more column shares all others") {
  braid::arena memory;
  const batch first = batch(ids).with_column(1001, floats(values), memory);
  const batch second = first.with_column(1002, floats(others), memory);
  CHECK(second.ids().data() == first.ids().data());
  CHECK(second.find(1001)->floats()->data() == values.data());
}
