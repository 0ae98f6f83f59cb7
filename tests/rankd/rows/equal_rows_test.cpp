// tests/rankd/rows/equal_rows_test.cpp: rows with the same value, within a set and across two.
#include <rankd/rows/equal_rows.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array all_survivors{survivor::first, survivor::last, survivor::highest};
constexpr std::array<std::uint32_t, 7> keys{
    1, float_key, full_float_key, int_key, bool_key, text_key, absent_key,
};

auto value_of(const model_row& row, std::uint32_t key) -> cell {
  if (key == 1) return row.id;
  const auto found = row.fields.find(key);
  return found == row.fields.end() ? cell() : found->second;
}

/// Whether two values make their rows the same; nulls never do.
auto is_same(const cell& a, const cell& b) -> bool { return a.index() != 0 && a == b; }

auto is_higher(const cell& a, const cell& b) -> bool {
  if (a.index() == 0 || b.index() == 0) return a.index() != 0 && b.index() == 0;
  return a > b;
}

auto values_of(const std::vector<model_row>& rows, std::uint32_t key) -> std::vector<cell> {
  std::vector<cell> values;
  for (const model_row& row : rows) values.push_back(value_of(row, key));
  return values;
}

/// Whether the row at `position` is the one of its value that stays.
auto stays(std::span<const cell> values, std::span<const cell> scores, std::size_t position, survivor kind) -> bool {
  for (std::size_t other = 0; other < values.size(); ++other) {
    if (other == position || !is_same(values[other], values[position])) continue;
    if (kind == survivor::first && other < position) return false;
    if (kind == survivor::last && other > position) return false;
    if (kind != survivor::highest) continue;
    if (is_higher(scores[other], scores[position])) return false;
    if (other < position && !is_higher(scores[position], scores[other])) return false;
  }
  return true;
}

auto distinct_model(const std::vector<model_row>& rows, const distinct_options& how) -> std::vector<model_row> {
  const std::vector<cell> values = values_of(rows, how.key_id);
  const std::vector<cell> scores = values_of(rows, how.score_key);
  std::vector<model_row> out;
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (stays(values, scores, at, how.stays)) out.push_back(rows[at]);
  return out;
}

auto ids_of(const row_set& rows) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < rows.size(); ++at) ids.push_back(rows.id(at));
  return ids;
}

using ids = std::vector<std::int64_t>;

auto batch_of(const ids& all, braid::arena& memory) -> batch {
  return batch(memory.copied(std::span<const std::int64_t>(all)));
}

}  // namespace

TEST_CASE("one row of each value stays, at its place in the order") {
  braid::arena memory;
  const row_set rows(batch_of({3, 1, 3, 2, 1}, memory));
  CHECK((ids_of(distinct(rows, {.key_id = 1}, memory)) == ids{3, 1, 2}));
  CHECK((ids_of(distinct(rows, {.key_id = 1, .stays = survivor::last}, memory)) == ids{3, 2, 1}));
  const row_set some = distinct(rows.take(4), {.key_id = 1, .stays = survivor::last}, memory);
  CHECK((ids_of(some) == ids{1, 3, 2}));
  CHECK(some.table().ids().data() == rows.table().ids().data());
  CHECK(distinct(row_set(), {.key_id = 1}, memory).empty());
}

TEST_CASE("the highest score stays, the first of equal ones, and a null only where there is nothing else") {
  braid::arena memory;
  column_builder<double> scores(memory, 7);
  for (const std::optional<double> score :
       std::vector<std::optional<double>>{1.0, std::nullopt, 2.0, 2.0, -5.0, std::nullopt, std::nullopt}) {
    if (score)
      scores.push(*score);
    else
      scores.push_null();
  }
  const batch table = batch_of({1, 2, 1, 1, 2, 3, 3}, memory).with_column(float_key, scores.finish(), memory);
  const distinct_options how{.key_id = 1, .stays = survivor::highest, .score_key = float_key};
  const row_set out = distinct(row_set(table), how, memory);
  REQUIRE(out.size() == 3);
  CHECK(out.row(0) == 2);
  CHECK(out.row(1) == 4);
  CHECK(out.row(2) == 5);
  const distinct_options absent{.key_id = 1, .stays = survivor::highest, .score_key = absent_key};
  CHECK((ids_of(distinct(row_set(table), absent, memory)) == ids{1, 2, 3}));
}

TEST_CASE("distinct agrees with comparing each row with each other") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(60); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(edge_sizes[random.below(8)]);
    for (const std::uint32_t key : keys) {
      for (const survivor stays : all_survivors) {
        const distinct_options how{
            .key_id = key, .stays = stays, .score_key = random.below(2) == 0 ? float_key : int_key};
        CHECK(rows_of(distinct(rows, how, memory)) == distinct_model(rows_of(rows), how));
      }
    }
  }
}

TEST_CASE("partners are found by value, whatever the dictionaries, and nulls have none") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(60); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set left = random.set(edge_sizes[random.below(8)]);
    const row_set all = random.set(edge_sizes[random.below(8)]);
    for (const std::uint32_t key : keys) {
      const row_set right = distinct(all, {.key_id = key}, memory);
      const auto partners = find_partners(left, right, key, memory);
      REQUIRE(partners.has_value());
      REQUIRE(partners->size() == left.size());
      const std::vector<cell> ours = values_of(rows_of(left), key);
      std::vector<std::pair<cell, std::uint32_t>> theirs;
      right.for_each_row(
          [&](std::uint32_t row) { theirs.emplace_back(value_of(row_of(right.table(), row), key), row); });
      for (std::size_t at = 0; at < ours.size(); ++at) {
        std::uint32_t expected = no_partner;
        for (const auto& [value, row] : theirs)
          if (is_same(ours[at], value)) expected = row;
        CHECK((*partners)[at] == expected);
      }
    }
  }
}

TEST_CASE("a value that two active rows of the right have is told") {
  braid::arena memory;
  const row_set left(batch_of({1}, memory));
  const row_set right(batch_of({5, 1, 2, 1, 5}, memory));
  const auto refused = find_partners(left, right, 1, memory);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().row == 3);
  CHECK(find_partners(left, right.take(3), 1, memory).has_value());
  CHECK_FALSE(find_partners(row_set(), right, 1, memory).has_value());
}

TEST_CASE("ids that differ in their highest or lowest bits are different") {
  braid::arena memory;
  ids all;
  for (std::int64_t i = 0; i < 2000; ++i) {
    all.push_back(i << 50U);
    all.push_back(i + 1);
    all.push_back(std::numeric_limits<std::int64_t>::min() + i);
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  const row_set rows(batch_of(all, memory));
  CHECK(distinct(rows, {.key_id = 1}, memory).size() == all.size());
}
