// tests/rankd/rows/row_set_test.cpp: which rows are active, and in which order.
#include <rankd/rows/row_set.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::int64_t, 4> ids{10, 20, 30, 40};
constexpr std::array<std::uint32_t, 3> order{3, 0, 2};

auto active_ids(const row_set& rows) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> out;
  rows.for_each_row([&](std::uint32_t row) { out.push_back(rows.table().ids()[row]); });
  return out;
}

using id_list = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a set of a batch has all of its rows as they lie") {
  const row_set rows{batch(ids)};
  CHECK(rows.is_prefix());
  CHECK(rows.size() == 4);
  CHECK(rows.row(2) == 2);
  CHECK(rows.id(2) == 30);
  CHECK(active_ids(rows) == id_list{10, 20, 30, 40});
}

TEST_CASE("an order names the active rows") {
  const row_set rows(batch(ids), order);
  CHECK_FALSE(rows.is_prefix());
  CHECK(rows.size() == 3);
  CHECK(rows.id(0) == 40);
  CHECK(active_ids(rows) == id_list{40, 10, 30});
}

TEST_CASE("take keeps the first rows of the current order and no more than there are") {
  CHECK(active_ids(row_set(batch(ids)).take(2)) == id_list{10, 20});
  CHECK(active_ids(row_set(batch(ids), order).take(2)) == id_list{40, 10});
  CHECK(active_ids(row_set(batch(ids), order).take(0)).empty());
  CHECK(row_set(batch(ids)).take(~std::size_t{0}).size() == 4);
}

TEST_CASE("select keeps positions, not rows") {
  braid::arena memory;
  const std::uint64_t first_and_last = 0b101;
  CHECK(active_ids(row_set(batch(ids), order).select(bitmap(&first_and_last), memory)) == id_list{40, 30});
  CHECK(active_ids(row_set(batch(ids)).select(bitmap(&first_and_last), memory)) == id_list{10, 30});
}

TEST_CASE("selecting everything changes nothing, selecting nothing leaves nothing") {
  braid::arena memory;
  const std::uint64_t none = 0;
  const row_set rows(batch(ids), order);
  CHECK(rows.select(bitmap(), memory).order().data() == order.data());
  CHECK(rows.select(bitmap(&none), memory).empty());
  CHECK(row_set().select(bitmap(&none), memory).empty());
}

TEST_CASE("select and take copy no column") {
  braid::arena memory;
  const std::uint64_t some = 0b110;
  const row_set rows = random_rows(1, memory).set(64);
  const row_set fewer = rows.select(bitmap(&some), memory).take(1);
  CHECK(fewer.table().ids().data() == rows.table().ids().data());
  CHECK(fewer.table().columns().data() == rows.table().columns().data());
}

TEST_CASE("select agrees with picking rows one by one") {
  for (const std::size_t size : edge_sizes) {
    braid::arena memory;
    random_rows random(size, memory);
    const row_set rows = random.set(size);
    std::vector<std::uint64_t> words(words_for(size) + 1);
    std::ranges::generate(words, [&random] { return static_cast<std::uint64_t>(random.below(~std::size_t{0})); });
    const std::vector<model_row> all = rows_of(rows);
    std::vector<model_row> expected;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (test_bit(words.data(), i)) expected.push_back(all[i]);
    }
    CHECK(rows_of(rows.select(bitmap(words.data()), memory)) == expected);
  }
}

TEST_CASE("a further column changes neither selection nor order") {
  braid::arena memory;
  const std::array<double, 4> values{1, 2, 3, 4};
  const row_set rows(batch(ids), order);
  const row_set wider = rows.with_column(1001, {.values = std::span<const double>(values), .validity = {}}, memory);
  CHECK(active_ids(wider) == active_ids(rows));
  CHECK(wider.table().find(1001).has_value());
  CHECK_FALSE(rows.table().find(1001).has_value());
}
