// tests/rankd/rows/diversify_test.cpp: equal values apart and rows in slots, against rules that look at every row.
#include <rankd/rows/diversify.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::uint32_t, 7> keys{
    1, float_key, full_float_key, int_key, bool_key, text_key, absent_key,
};

auto value_of(const model_row& row, std::uint32_t key) -> cell {
  if (key == 1) return row.id;
  const auto found = row.fields.find(key);
  return found == row.fields.end() ? cell() : found->second;
}

/// Whether a row may stand behind those that were placed: so says a count of the last ones.
auto may_come(const std::vector<model_row>& placed, const model_row& row, const window_options& how) -> bool {
  const cell value = value_of(row, how.key_id);
  if (value.index() == 0) return true;
  const std::size_t seen = how.window == 0 ? placed.size() : std::min(placed.size(), how.window - 1);
  std::size_t same = 0;
  for (std::size_t back = 1; back <= seen; ++back)
    if (value_of(placed[placed.size() - back], how.key_id) == value) ++same;
  return same < how.at_most;
}

/// The rule as it is written: a pass over all rows that are left for each position.
auto limited_model(std::vector<model_row> rows, const window_options& how) -> std::vector<model_row> {
  std::vector<model_row> placed;
  if (how.overflow == overflow_rule::drop) {
    for (const model_row& row : rows)
      if (may_come(placed, row, how)) placed.push_back(row);
    return placed;
  }
  while (!rows.empty()) {
    auto next = std::ranges::find_if(rows, [&](const model_row& row) { return may_come(placed, row, how); });
    if (next == rows.end()) next = rows.begin();
    placed.push_back(*next);
    rows.erase(next);
  }
  return placed;
}

auto slots_model(const std::vector<model_row>& rows, const std::vector<bool>& wanted, const slot_options& how)
    -> std::vector<model_row> {
  std::vector<model_row> in_slots;
  std::vector<model_row> others;
  for (std::size_t at = 0; at < rows.size(); ++at) (wanted[at] ? in_slots : others).push_back(rows[at]);
  std::vector<model_row> out;
  for (std::size_t position = 1; !in_slots.empty() || !others.empty(); ++position) {
    const bool is_slot = position >= how.first && (position - how.first) % how.every == 0;
    if (!is_slot && others.empty() && how.overflow == overflow_rule::drop) break;
    std::vector<model_row>& from = (is_slot && !in_slots.empty()) || others.empty() ? in_slots : others;
    out.push_back(from.front());
    from.erase(from.begin());
  }
  return out;
}

using ids = std::vector<std::int64_t>;

auto ids_of(const row_set& rows) -> ids {
  ids out;
  for (std::size_t at = 0; at < rows.size(); ++at) out.push_back(rows.id(at));
  return out;
}

auto set_of(const ids& all, braid::arena& memory) -> row_set {
  return row_set(batch(memory.copied(std::span<const std::int64_t>(all))));
}

}  // namespace

TEST_CASE("a row that may not come at its turn comes as soon as it may, before all that stand behind it") {
  braid::arena memory;
  const row_set rows = set_of({1, 1, 1, 2, 3, 1, 2, 4}, memory);
  CHECK((ids_of(limit_repeats(rows, {.key_id = 1, .at_most = 1, .window = 2}, memory)) == ids{1, 2, 1, 3, 1, 2, 1, 4}));
  CHECK((ids_of(limit_repeats(rows, {.key_id = 1, .at_most = 1, .window = 3}, memory)) == ids{1, 2, 3, 1, 2, 4, 1, 1}));
  CHECK((ids_of(limit_repeats(rows, {.key_id = 1, .at_most = 2, .window = 3}, memory)) == ids{1, 1, 2, 1, 3, 1, 2, 4}));
  CHECK((ids_of(limit_repeats(rows, {.key_id = 1, .at_most = 1}, memory)) == ids{1, 2, 3, 4, 1, 1, 1, 2}));
}

TEST_CASE("dropped rows do not count, and without a window the first rows of each value stay") {
  braid::arena memory;
  const row_set rows = set_of({1, 1, 1, 2, 1, 3, 1, 2}, memory);
  const auto kept = [&](std::size_t at_most, std::size_t window) {
    return ids_of(limit_repeats(
        rows, {.key_id = 1, .at_most = at_most, .window = window, .overflow = overflow_rule::drop}, memory));
  };
  CHECK((kept(1, 2) == ids{1, 2, 1, 3, 1, 2}));
  CHECK((kept(1, 0) == ids{1, 2, 3}));
  CHECK((kept(2, 0) == ids{1, 1, 2, 3, 2}));
}

TEST_CASE("rows that stand well are given as they are") {
  braid::arena memory;
  const row_set rows = set_of({1, 2, 1, 2}, memory);
  CHECK(limit_repeats(rows, {.key_id = 1, .at_most = 1, .window = 2}, memory).is_prefix());
  CHECK(limit_repeats(row_set(), {.key_id = 1}, memory).empty());
  CHECK(limit_repeats(rows, {.key_id = absent_key, .at_most = 1}, memory).is_prefix());
}

TEST_CASE("limiting repeats agrees with counting before each position") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(60); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(edge_sizes[random.below(6)]);
    for (const std::uint32_t key : keys) {
      const std::size_t at_most = 1 + random.below(3);
      for (const overflow_rule overflow : {overflow_rule::later, overflow_rule::drop}) {
        const window_options how{.key_id = key,
                                 .at_most = at_most,
                                 .window = random.below(4) == 0 ? 0 : at_most + 1 + random.below(12),
                                 .overflow = overflow};
        CAPTURE(seed);
        CHECK(rows_of(limit_repeats(rows, how, memory)) == limited_model(rows_of(rows), how));
      }
    }
  }
}

TEST_CASE("wanted rows take the slots in their order, and the others stand between them") {
  braid::arena memory;
  const row_set rows = set_of({1, 2, 3, 4, 5, 6, 7}, memory);
  const std::uint64_t last_three = 0b1110000;
  const auto filled = [&](const slot_options& how) {
    return ids_of(fill_slots(rows, bitmap(&last_three), how, memory));
  };
  CHECK((filled({.first = 2, .every = 3}) == ids{1, 5, 2, 3, 6, 4, 7}));
  CHECK((filled({.first = 1, .every = 5}) == ids{5, 1, 2, 3, 4, 6, 7}));
  CHECK((filled({.first = 1, .every = 5, .overflow = overflow_rule::drop}) == ids{5, 1, 2, 3, 4, 6}));
  CHECK((filled({.first = 9, .every = 1}) == ids{1, 2, 3, 4, 5, 6, 7}));
  CHECK((filled({.first = 2, .every = 1}) == ids{1, 5, 6, 7, 2, 3, 4}));
}

TEST_CASE("filling slots agrees with choosing position by position") {
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(300); ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set rows = random.set(random.below(70));
    const std::size_t share = 1 + random.below(6);
    std::vector<bool> wanted(rows.size());
    const std::span<std::uint64_t> bits = memory.filled(words_for(rows.size()) + 1, std::uint64_t{0});
    for (std::size_t at = 0; at < rows.size(); ++at) {
      wanted[at] = random.below(share) == 0;
      if (wanted[at]) set_bit(bits.data(), at);
    }
    const slot_options how{.first = 1 + random.below(9),
                           .every = 1 + random.below(7),
                           .overflow = random.below(2) == 0 ? overflow_rule::later : overflow_rule::drop};
    CAPTURE(seed);
    CHECK(rows_of(fill_slots(rows, bitmap(bits.data()), how, memory)) == slots_model(rows_of(rows), wanted, how));
  }
}
