// tests/rankd/rows/aggregate_test.cpp: numbers of many rows, and ranks of several lists, against passes over all rows.
#include <rankd/rows/aggregate.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto value_of(const model_row& row, std::uint32_t key) -> cell {
  if (key == 1) return row.id;
  const auto found = row.fields.find(key);
  return found == row.fields.end() ? cell() : found->second;
}

auto number_of(const cell& value) -> std::optional<double> {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

/// The aggregate of the group of one row, by a pass over all rows.
auto aggregate_model(const std::vector<model_row>& rows, std::size_t at, const aggregate_options& how)
    -> std::optional<double> {
  double count = 0;
  std::vector<double> values;
  for (std::size_t other = 0; other < rows.size(); ++other) {
    if (how.group_key && other != at) {
      const cell value = value_of(rows[at], *how.group_key);
      if (value.index() == 0 || value != value_of(rows[other], *how.group_key)) continue;
    }
    ++count;
    if (const auto number = number_of(value_of(rows[other], how.key_id))) values.push_back(*number);
  }
  if (how.kind == aggregate_kind::count) return count;
  if (values.empty()) return std::nullopt;
  double sum = 0;
  double min = values.front();
  double max = values.front();
  for (const double value : values) {
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (how.kind == aggregate_kind::mean) return sum / static_cast<double>(values.size());
  return how.kind == aggregate_kind::sum ? sum : how.kind == aggregate_kind::min ? min : max;
}

auto float_at(const column& values, std::uint32_t row) -> std::optional<double> {
  return values.is_null(row) ? std::nullopt : std::optional((*values.floats())[row]);
}

/// What a list adds to the score of an id, where `k` is 2.
auto measure_share(std::int64_t id, const cell& list, const std::vector<model_row>& rows) -> double {
  std::size_t rank = 0;
  for (const model_row& row : rows) {
    if (value_of(row, text_key) != list) continue;
    ++rank;
    if (row.id == id) return 1.0 / (2 + static_cast<double>(rank));
  }
  return 0;
}

}  // namespace

TEST_CASE("aggregates agree with a pass over all rows for each row") {
  constexpr std::array kinds{aggregate_kind::count, aggregate_kind::sum, aggregate_kind::mean, aggregate_kind::min,
                             aggregate_kind::max};
  constexpr std::array<std::uint32_t, 4> numbers{1, float_key, int_key, absent_key};
  constexpr std::array<std::uint32_t, 5> groups{1, float_key, bool_key, text_key, absent_key};
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(60); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(random.below(70));
    const std::vector<model_row> plain = rows_of(rows);
    for (const aggregate_kind kind : kinds) {
      aggregate_options how{.kind = kind, .key_id = numbers[random.below(numbers.size())], .group_key = std::nullopt};
      if (random.below(4) != 0) how.group_key = groups[random.below(groups.size())];
      const column made = aggregate(rows, how, memory);
      CAPTURE(seed);
      REQUIRE(made.size() == rows.table().size());
      for (std::size_t at = 0; at < plain.size(); ++at)
        CHECK(float_at(made, rows.row(at)) == aggregate_model(plain, at, how));
    }
  }
}

TEST_CASE("fused ranks agree with looking for each id in each list") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(60); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(random.below(70));
    const std::vector<model_row> plain = rows_of(rows);
    std::vector<cell> names;
    for (const model_row& row : plain) {
      const cell name = value_of(row, text_key);
      if (name.index() != 0 && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    const fused_ranks fused = fuse_ranks(rows, text_key, 2, memory);
    std::set<std::int64_t> seen;
    std::size_t next = 0;
    for (const model_row& row : plain) {
      if (!seen.insert(row.id).second) continue;
      double expected = 0;
      for (const cell& name : names) expected += measure_share(row.id, name, plain);
      CAPTURE(seed);
      REQUIRE(next < fused.rows.size());
      CHECK(row_of(rows.table(), fused.rows.row(next)) == row);
      CHECK(float_at(fused.scores, fused.rows.row(next++)) == expected);
    }
    CHECK(next == fused.rows.size());
  }
}
