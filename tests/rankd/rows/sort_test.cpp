// tests/rankd/rows/sort_test.cpp: active rows in the order of a column.
#include <rankd/rows/sort.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array both_directions{sort_direction::ascending, sort_direction::descending};

/// The value by which a row is sorted; monostate for null.
auto key_of(const model_row& row, std::uint32_t key) -> cell {
  if (key == 1) return row.id;
  const auto found = row.fields.find(key);
  return found == row.fields.end() ? cell() : found->second;
}

/// Inserts each row behind all that do not come after it.
auto sorted_model(const std::vector<model_row>& rows, std::uint32_t key, sort_direction direction)
    -> std::vector<model_row> {
  const auto comes_before = [key, direction](const model_row& a, const model_row& b) {
    const cell left = key_of(a, key);
    const cell right = key_of(b, key);
    if (left.index() == 0 || right.index() == 0) return left.index() != 0 && right.index() == 0;
    return direction == sort_direction::ascending ? left < right : right < left;
  };
  std::vector<model_row> sorted;
  for (const model_row& row : rows) sorted.insert(std::ranges::upper_bound(sorted, row, comes_before), row);
  return sorted;
}

auto first_rows_are_those_of_sort(const row_set& rows, std::uint32_t key, sort_direction direction) -> bool {
  braid::arena memory;
  const row_set all = sort(rows, key, direction, memory);
  for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{70}, rows.size() / 4, rows.size() / 3,
                                  rows.size(), rows.size() + 1}) {
    const row_set first = sort_first(rows, key, direction, count, memory);
    if (first.size() != std::min(count, rows.size())) return false;
    for (std::size_t at = 0; at < first.size(); ++at)
      if (first.row(at) != all.row(at)) return false;
  }
  return true;
}

auto make_texts(const row_set& rows) -> std::vector<std::string> {
  std::vector<std::string> out;
  rows.for_each_row(
      [&](std::uint32_t row) { out.push_back(std::get<std::string>(cell_of(*rows.table().find(text_key), row))); });
  return out;
}

}  // namespace

TEST_CASE("sort agrees with a stable sort of rows, nulls last in both directions") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(edge_sizes[random.below(9)]);
    const std::vector<model_row> before = rows_of(rows);
    for (const std::uint32_t key : {std::uint32_t{1}, std::uint32_t{float_key}, std::uint32_t{int_key},
                                    std::uint32_t{bool_key}, std::uint32_t{text_key}, std::uint32_t{absent_key}}) {
      for (const sort_direction direction : both_directions) {
        CAPTURE(key);
        CHECK(rows_of(sort(rows, key, direction, memory)) == sorted_model(before, key, direction));
      }
    }
  }
}

TEST_CASE("the first rows of a sort are those of the whole sort, however many are wanted") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(seed % 4 == 0 ? 3000 : edge_sizes[random.below(edge_sizes.size())]);
    for (const std::uint32_t key : {std::uint32_t{1}, std::uint32_t{float_key}, std::uint32_t{int_key},
                                    std::uint32_t{bool_key}, std::uint32_t{text_key}, std::uint32_t{absent_key}}) {
      CAPTURE(seed);
      CAPTURE(key);
      for (const sort_direction direction : both_directions) CHECK(first_rows_are_those_of_sort(rows, key, direction));
    }
  }
}

TEST_CASE("one value more than are wanted does not write behind the memory of those that are") {
  constexpr auto untouched = std::byte{0xa5};
  alignas(std::max_align_t) std::array<std::byte, 8192> bytes{};
  bytes.fill(untouched);
  std::pmr::monotonic_buffer_resource chunks(bytes.data(), bytes.size(), std::pmr::null_memory_resource());
  braid::arena columns;
  const std::array<std::int64_t, 8> ids{1, 2, 3, 4, 5, 6, 7, 8};
  column_builder<double> values(columns, ids.size());
  for (const double value : {3.0, 1.0, 2.0}) values.push(value);
  for (int i = 3; i < 8; ++i) values.push_null();
  const row_set rows(batch(ids).with_column(float_key, values.finish(), columns));

  braid::arena memory(4096, &chunks);
  const row_set first = sort_first(rows, float_key, sort_direction::ascending, 2, memory);
  CHECK(std::ranges::equal(first.order(), std::array<std::uint32_t, 2>{1, 2}));
  const std::span<const std::byte> behind(reinterpret_cast<const std::byte*>(first.order().data() + first.size()),
                                          bytes.data() + bytes.size());
  CHECK(std::ranges::all_of(behind, [](std::byte each) { return each == untouched; }));
}

TEST_CASE("sort changes the order only") {
  braid::arena memory;
  const row_set rows = random_rows(7, memory).set(65);
  const row_set sorted = sort(rows, float_key, sort_direction::descending, memory);
  CHECK(sorted.table().ids().data() == rows.table().ids().data());
  CHECK(sorted.table().columns().data() == rows.table().columns().data());
}

TEST_CASE("integers that no double tells apart are sorted exactly") {
  braid::arena memory;
  const std::array<std::int64_t, 4> ids{two_to_53 + 1, two_to_53, std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min()};
  const row_set sorted = sort(row_set(batch(ids)), 1, sort_direction::ascending, memory);
  CHECK(std::ranges::equal(sorted.order(), std::array<std::uint32_t, 4>{3, 1, 0, 2}));
}

TEST_CASE("zero and minus zero are equal, so they keep their order") {
  braid::arena memory;
  const std::array<std::int64_t, 4> ids{1, 2, 3, 4};
  const std::array<double, 4> values{0.0, -0.0, -1.0, 0.0};
  const row_set rows(
      batch(ids).with_column(float_key, {.values = std::span<const double>(values), .validity = {}}, memory));
  CHECK(std::ranges::equal(sort(rows, float_key, sort_direction::ascending, memory).order(),
                           std::array<std::uint32_t, 4>{2, 0, 1, 3}));
  CHECK(std::ranges::equal(sort(rows, float_key, sort_direction::descending, memory).order(),
                           std::array<std::uint32_t, 4>{0, 1, 3, 2}));
}

TEST_CASE("strings are sorted by their bytes, not by signed characters or letters") {
  braid::arena memory;
  const std::array<std::int64_t, 5> ids{1, 2, 3, 4, 5};
  column_builder<std::string_view> text(memory, 5);
  for (const std::string_view word : {"b", "\xff", "", "B", "ba"}) text.push(word);
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  CHECK(make_texts(sort(rows, text_key, sort_direction::ascending, memory)) ==
        std::vector<std::string>{"", "B", "b", "ba", "\xff"});
}

TEST_CASE("a few rows of a huge dictionary are sorted by their strings") {
  braid::arena memory;
  constexpr std::size_t size = 20'000;
  std::vector<std::int64_t> ids(size);
  column_builder<std::string_view> text(memory, size);
  for (std::size_t i = 0; i < size; ++i) text.push(std::to_string(size - i));
  const row_set rows(batch(ids).with_column(text_key, text.finish(), memory));
  CHECK(make_texts(sort(rows.take(3), text_key, sort_direction::ascending, memory)) ==
        std::vector<std::string>{"19998", "19999", "20000"});
}

TEST_CASE("no rows and a missing column are fine") {
  braid::arena memory;
  CHECK(sort(row_set(), 1, sort_direction::ascending, memory).empty());
  CHECK(sort(row_set(), text_key, sort_direction::ascending, memory).empty());
}
