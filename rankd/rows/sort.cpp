// rankd/rows/sort.cpp: turns every type into unsigned integers of the same order, then sorts those.
#include <rankd/rows/sort.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <memory_resource>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace rankd {
namespace {

struct sort_item {
  std::uint64_t rank;
  std::uint32_t position;
  std::uint32_t row;
};

/// Sorts few items. Position breaks ties, so that a sort that needs no memory gives the stable order.
void sort_few(std::span<sort_item> items) {
  std::ranges::sort(items, [](const sort_item& a, const sort_item& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.position < b.position;
  });
}

/// Sorts many items byte by byte from the lowest, each pass stable; bytes that all ranks share cost nothing.
void sort_many(std::span<sort_item> items, braid::arena& memory) {
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  const auto byte_of = [](const sort_item& item, std::size_t byte) { return (item.rank >> (8 * byte)) & 0xffU; };
  std::array<std::array<std::uint32_t, 256>, bytes> counts{};
  for (const sort_item& item : items) {
    for (std::size_t byte = 0; byte < bytes; ++byte) ++counts[byte][byte_of(item, byte)];
  }
  std::span<sort_item> from = items;
  std::span<sort_item> to = memory.uninitialized<sort_item>(items.size());
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    std::array<std::uint32_t, 256>& next = counts[byte];
    if (next[byte_of(from.front(), byte)] == from.size()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const sort_item& item : from) to[next[byte_of(item, byte)]++] = item;
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::ranges::copy(from, items.begin());
}

void sort_items(std::span<sort_item> items, braid::arena& memory) {
  constexpr std::size_t few = 256;  // below, the counts of the passes cost more than comparing
  if (items.size() < few)
    sort_few(items);
  else
    sort_many(items, memory);
}

constexpr std::uint64_t sign = std::uint64_t{1} << 63U;

auto rank_of(std::int64_t value) -> std::uint64_t { return std::bit_cast<std::uint64_t>(value) ^ sign; }

auto rank_of(double value) -> std::uint64_t {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // makes -0 equal to 0
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

auto rank_of(bool value) -> std::uint64_t { return value ? 1 : 0; }

/// For each code that occurs, its place among the strings that occur.
auto ranks_of(const string_values& text, std::span<const sort_item> items, braid::arena& memory)
    -> std::span<const std::uint32_t> {
  const std::span<std::uint32_t> ranks = memory.filled(text.words->size(), std::uint32_t{0});
  std::pmr::vector<std::uint32_t> occurring(&memory);
  for (const sort_item& item : items) {
    std::uint32_t& seen = ranks[text.codes[item.row]];
    if (seen == 0) occurring.push_back(text.codes[item.row]);
    seen = 1;
  }
  std::ranges::sort(occurring, {}, [&text](std::uint32_t code) { return (*text.words)[code]; });
  for (std::uint32_t rank = 0; rank < occurring.size(); ++rank) ranks[occurring[rank]] = rank;
  return ranks;
}

void give_ranks(const column& by, std::span<sort_item> items, braid::arena& memory) {
  const auto each = [items](auto&& rank) {
    for (sort_item& item : items) item.rank = rank(item.row);
  };
  if (const auto* floats = by.floats()) {
    each([floats](std::uint32_t row) { return rank_of((*floats)[row]); });
  } else if (const auto* integers = by.integers()) {
    each([integers](std::uint32_t row) { return rank_of((*integers)[row]); });
  } else if (const auto* booleans = by.booleans()) {
    each([booleans](std::uint32_t row) { return rank_of((*booleans)[row]); });
  } else {
    const string_values& text = *by.strings();
    each([&text, ranks = ranks_of(text, items, memory)](std::uint32_t row) { return ranks[text.codes[row]]; });
  }
}

}  // namespace

auto sort(const row_set& rows, std::uint32_t key_id, sort_direction direction, braid::arena& memory) -> row_set {
  const std::optional<column> by = rows.table().find(key_id);
  if (!by) return rows;
  const std::span<sort_item> items = memory.filled(rows.size(), sort_item{});
  std::size_t front = 0;
  std::size_t back = rows.size();  // nulls fill the end backwards: their ranks rise with their positions
  for (std::uint32_t position = 0; position < rows.size(); ++position) {
    const std::uint32_t row = rows.row(position);
    items[by->is_null(row) ? --back : front++] = {.rank = position, .position = position, .row = row};
  }
  const std::span<sort_item> known = items.first(front);
  give_ranks(*by, known, memory);
  if (direction == sort_direction::descending) {
    for (sort_item& item : known) item.rank = ~item.rank;
  }
  sort_items(known, memory);
  std::ranges::reverse(items.subspan(front));
  const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(rows.size());
  std::ranges::transform(items, order.begin(), &sort_item::row);
  return {rows.table(), order};
}

}  // namespace rankd
