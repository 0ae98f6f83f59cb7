// tests/rankd/rows/copied_rows_test.cpp: copies of rows that share nothing with where they came from.
#include <rankd/rows/copied_rows.hpp>

#include <rankd/rows/column_builder.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

constexpr std::array<std::int64_t, 4> ids{11, 12, 13, 14};
constexpr std::array<double, 4> scores{0.5, 1.5, 2.5, 3.5};
constexpr std::array flags{true, false, true, false};

/// Columns of every type; of texts row 2 has none.
auto made(braid::arena& memory) -> batch {
  column_builder<std::string_view> titles(memory, ids.size());
  titles.push("left behind");
  titles.push("b");
  titles.push_null();
  titles.push("b");
  const auto columns = memory.uninitialized<keyed_column>(4);
  columns[0] = {10, {.values = std::span<const double>(scores), .validity = {}}};
  columns[1] = {20, {.values = std::span<const std::int64_t>(ids), .validity = {}}};
  columns[2] = {30, {.values = std::span<const bool>(flags), .validity = {}}};
  columns[3] = {40, titles.finish()};
  return batch(std::span<const std::int64_t>(ids), columns);
}

}  // namespace

TEST_CASE("the active rows are copied in their order, with the texts that they use") {
  braid::arena kept;
  row_set copy;
  {
    braid::arena memory;
    const std::array<std::uint32_t, 3> order{3, 2, 1};
    copy = copied_rows(row_set(made(memory), order), kept);
    // What it was copied from may go.
    for (const keyed_column& each : copy.table().columns()) CHECK(each.values.size() == 3);
  }
  REQUIRE(copy.is_prefix());
  REQUIRE(copy.size() == 3);
  CHECK(copy.id(0) == 14);
  CHECK(copy.id(2) == 12);
  CHECK((*copy.table().find(10)->floats())[0] == 3.5);
  CHECK((*copy.table().find(20)->integers())[1] == 13);
  CHECK((*copy.table().find(30)->booleans())[1]);
  const column titles = *copy.table().find(40);
  CHECK((*titles.strings())[0] == "b");
  CHECK(titles.is_null(1));
  CHECK((*titles.strings())[2] == "b");
  CHECK(titles.strings()->words->size() == 1);
}

TEST_CASE("ids that are texts are copied, and so is a vector with its dimensions") {
  braid::arena memory;
  column_builder<std::string_view> names(memory, 3);
  for (const std::string_view each : {"x", "y", "x"}) names.push(each);
  const column ids_column = names.finish();
  column vectors = ids_column;
  std::get<string_values>(vectors.values).dimensions = 2;
  const std::array columns{keyed_column{7, vectors}};
  const std::array<std::uint32_t, 2> order{1, 0};
  braid::arena kept;
  const row_set copy = copied_rows(row_set(batch(*ids_column.strings(), columns), order), kept);
  REQUIRE(copy.table().text_ids());
  CHECK((*copy.table().text_ids())[0] == "y");
  CHECK((*copy.table().text_ids())[1] == "x");
  CHECK(copy.table().find(7)->strings()->dimensions == 2);
  CHECK((*copy.table().find(7)->strings())[0] == "y");
}

TEST_CASE("no rows are copied as no rows, and a column without any value as one") {
  braid::arena memory;
  braid::arena kept;
  const row_set none = copied_rows(row_set(made(memory)).take(0), kept);
  CHECK(none.empty());
  CHECK(none.table().columns().size() == 4);
  column_builder<std::string_view> nulls(memory, 1);
  nulls.push_null();
  const std::array columns{keyed_column{40, nulls.finish()}};
  const row_set one = copied_rows(row_set(batch(std::span(ids).first(1), columns)), kept);
  CHECK(one.table().find(40)->is_null(0));
}
