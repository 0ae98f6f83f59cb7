// tests/rankd/rows/concat_test.cpp: rows one after the other.
#include <rankd/rows/concat.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::int64_t, 2> left_ids{1, 2};
constexpr std::array<std::int64_t, 3> right_ids{3, 4, 5};

auto text_column(std::initializer_list<std::string_view> words, braid::arena& memory) -> column {
  column_builder<std::string_view> out(memory, words.size());
  for (const std::string_view word : words) out.push(word);
  return out.finish();
}

}  // namespace

TEST_CASE("rows of the left come first, then those of the right, as one dense batch") {
  braid::arena memory;
  const std::array<std::uint32_t, 2> order{2, 0};
  const row_set both = concat(row_set(batch(left_ids)), row_set(batch(right_ids), order), memory);
  CHECK(both.is_prefix());
  CHECK(both.table().size() == 4);
  CHECK(std::ranges::equal(both.table().ids(), std::array<std::int64_t, 4>{1, 2, 5, 3}));
}

TEST_CASE("ids that are texts come from one dictionary afterwards, and keep their texts") {
  braid::arena memory;
  const column left = text_column({"b", "a"}, memory);
  const column right = text_column({"a", "c", "b"}, memory);
  const std::array<std::uint32_t, 2> order{2, 0};
  const row_set both = concat(row_set(batch(*left.strings())), row_set(batch(*right.strings()), order), memory);
  const string_values ids = both.table().text_ids().value();
  std::string found;
  for (std::size_t at = 0; at < 4; ++at) found += ids[at];
  CHECK(found == "baba");
  CHECK(ids.codes[0] == ids.codes[2]);
  CHECK(concat(row_set(), row_set(batch(*right.strings())), memory).table().id(1) == row_id("c"));
}

TEST_CASE("a column of one side is null on the other") {
  braid::arena memory;
  const std::array<double, 2> values{1.5, 2.5};
  const batch left =
      batch(left_ids).with_column(1001, {.values = std::span<const double>(values), .validity = {}}, memory);
  const row_set both = concat(row_set(left), row_set(batch(right_ids)), memory);
  const column found = both.table().find(1001).value();
  CHECK((*found.floats())[1] == 2.5);
  CHECK(found.validity.count(5) == 2);
  CHECK(found.is_null(2));
}

TEST_CASE("dictionaries are unified: entries of the left, then new ones of the right") {
  braid::arena memory;
  const batch left = batch(left_ids).with_column(3001, text_column({"US", "CA"}, memory), memory);
  const batch right = batch(right_ids).with_column(3001, text_column({"DE", "CA", "FR"}, memory), memory);
  const row_set both = concat(row_set(left), row_set(right), memory);
  const string_values text = *both.table().find(3001)->strings();
  CHECK(std::ranges::equal(text.words->entries(), std::array<std::string_view, 4>{"US", "CA", "DE", "FR"}));
  CHECK(std::ranges::equal(text.codes, std::array<std::uint32_t, 5>{0, 1, 2, 1, 3}));
}

TEST_CASE("entries of inactive rows keep their place in the dictionary") {
  braid::arena memory;
  const batch left = batch(left_ids).with_column(3001, text_column({"US", "CA"}, memory), memory);
  const batch right = batch(right_ids).with_column(3001, text_column({"DE", "CA", "FR"}, memory), memory);
  const row_set both = concat(row_set(left).take(1), row_set(right).take(0), memory);
  CHECK(both.table().find(3001)->strings()->words->size() == 4);
}

TEST_CASE("a dictionary that both sides share, or that only one has, stays as it is") {
  braid::arena memory;
  const column text = text_column({"US", "CA"}, memory);
  const row_set left(batch(left_ids).with_column(3001, text, memory));
  const row_set same = concat(left, left, memory);
  CHECK(same.table().find(3001)->strings()->words == text.strings()->words);
  const row_set alone = concat(row_set(batch(right_ids)), left, memory);
  CHECK(alone.table().find(3001)->strings()->words == text.strings()->words);
  CHECK((*alone.table().find(3001)->strings())[3] == "US");
}

TEST_CASE("nothing and nothing make nothing") {
  braid::arena memory;
  CHECK(concat(row_set(), row_set(), memory).empty());
}

TEST_CASE("columns without nulls on both sides have none afterwards") {
  braid::arena memory;
  const std::array<double, 2> values{1.5, 2.5};
  const row_set left(
      batch(left_ids).with_column(1001, {.values = std::span<const double>(values), .validity = {}}, memory));
  CHECK(concat(left, left, memory).table().find(1001)->validity.all_set());
}

TEST_CASE("concat agrees with putting rows one behind the other") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    const row_set left = random.set(edge_sizes[random.below(8)]);
    const row_set right = random.set(edge_sizes[random.below(8)]);
    std::vector<model_row> expected = rows_of(left);
    for (model_row& row : rows_of(right)) expected.push_back(std::move(row));
    CHECK(rows_of(concat(left, right, memory)) == expected);
  }
}

TEST_CASE("several sets at once give what two at a time give") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    braid::arena memory;
    random_rows random(seed, memory);
    std::vector<row_set> sets;
    for (std::size_t left = random.below(6); left > 0; --left) sets.push_back(random.set(edge_sizes[random.below(8)]));
    row_set expected;
    for (const row_set& each : sets) expected = concat(expected, each, memory);
    const row_set found = concat(sets, memory);
    CHECK(rows_of(found) == rows_of(expected));
    if (const auto text = found.table().find(text_key))
      CHECK(std::ranges::equal(text->strings()->words->entries(),
                               expected.table().find(text_key)->strings()->words->entries()));
  }
}
