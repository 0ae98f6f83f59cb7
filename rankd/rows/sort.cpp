// rankd/rows/sort.cpp: maps values of every type to unsigned integers with the same order, and sorts these integers.
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

/// Compares two items. Equal ranks are ordered by position, so even an unstable sorting algorithm keeps the order of
/// equal items.
auto comes_before(const sort_item& a, const sort_item& b) -> bool {
  return a.rank != b.rank ? a.rank < b.rank : a.position < b.position;
}

/// Sorts a small number of items without allocating memory.
void sort_few(std::span<sort_item> items) { std::ranges::sort(items, comes_before); }

/// Sorts many items by a radix sort from the lowest byte. Each pass is stable. A byte that is the same in all ranks
/// needs no pass.
void sort_many(std::span<sort_item> items, braid::arena& memory) {
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  const auto rank_byte = [](const sort_item& item, std::size_t byte) { return (item.rank >> (8 * byte)) & 0xffU; };
  std::array<std::array<std::uint32_t, 256>, bytes> counts{};
  for (const sort_item& item : items) {
    for (std::size_t byte = 0; byte < bytes; ++byte) ++counts[byte][rank_byte(item, byte)];
  }
  std::span<sort_item> from = items;
  std::span<sort_item> to = memory.uninitialized<sort_item>(items.size());
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    std::array<std::uint32_t, 256>& next = counts[byte];
    if (next[rank_byte(from.front(), byte)] == from.size()) continue;
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const sort_item& item : from) to[next[rank_byte(item, byte)]++] = item;
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

auto to_rank(std::int64_t value) -> std::uint64_t { return std::bit_cast<std::uint64_t>(value) ^ sign; }

auto to_rank(double value) -> std::uint64_t {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // makes -0 equal to 0
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

auto to_rank(bool value) -> std::uint64_t { return value ? 1 : 0; }

/// Returns the rank of each code: the position of its string among the sorted strings of active rows.
auto make_ranks(const row_set& rows, const string_values& text, bitmap validity, braid::arena& memory)
    -> std::span<const std::uint32_t> {
  const std::span<std::uint32_t> ranks = memory.filled(text.words->size(), std::uint32_t{0});
  std::pmr::vector<std::uint32_t> occurring(&memory);
  rows.for_each_row([&](std::uint32_t row) {
    if (!validity[row]) return;
    std::uint32_t& seen = ranks[text.codes[row]];
    if (seen == 0) occurring.push_back(text.codes[row]);
    seen = 1;
  });
  std::ranges::sort(occurring, {}, [&text](std::uint32_t code) { return (*text.words)[code]; });
  for (std::uint32_t rank = 0; rank < occurring.size(); ++rank) ranks[occurring[rank]] = rank;
  return ranks;
}

/// Calls `use(rank)` with a function `rank(row)`. The function returns an unsigned integer that orders the rows without
/// nulls in the given `direction`.
template <typename Use>
void with_ranks(const row_set& rows, const column& sorted_by, sort_direction direction, braid::arena& memory,
                Use&& use) {
  const std::uint64_t flip = direction == sort_direction::descending ? ~std::uint64_t{0} : 0;
  if (const auto* floats = sorted_by.floats()) {
    use([floats, flip](std::uint32_t row) { return to_rank((*floats)[row]) ^ flip; });
  } else if (const auto* integers = sorted_by.integers()) {
    use([integers, flip](std::uint32_t row) { return to_rank((*integers)[row]) ^ flip; });
  } else if (const auto* booleans = sorted_by.booleans()) {
    use([booleans, flip](std::uint32_t row) { return to_rank((*booleans)[row]) ^ flip; });
  } else {
    const string_values& text = *sorted_by.strings();
    const std::span<const std::uint32_t> ranks = make_ranks(rows, text, sorted_by.validity, memory);
    use([&text, ranks, flip](std::uint32_t row) { return ranks[text.codes[row]] ^ flip; });
  }
}

/// Collects the items with the lowest ranks. Items must be added in the order of their positions.
class lowest_items {
 public:
  lowest_items(std::size_t count, braid::arena& memory)
      : count_(count), items_(memory.uninitialized<sort_item>(2 * count + min_room)) {}

  void add(const sort_item& item) {
    if (is_full_ && item.rank >= bound_) return;  // one of the same rank comes behind those that are here
    items_[size_++] = item;
    if (size_ == items_.size()) shrink();
  }

  /// Returns the items with the lowest ranks, in order. Returns at most the requested number of items.
  [[nodiscard]] auto finish() -> std::span<const sort_item> {
    if (size_ > count_) shrink();
    sort_few(items_.first(size_));
    return items_.first(size_);
  }

 private:
  static constexpr std::size_t min_room = 64;

  void shrink() {
    const auto last = items_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
    std::nth_element(items_.begin(), last, items_.begin() + static_cast<std::ptrdiff_t>(size_), comes_before);
    bound_ = last->rank;
    is_full_ = true;
    size_ = count_;
  }

  std::size_t count_;
  std::span<sort_item> items_;
  std::size_t size_ = 0;
  std::uint64_t bound_ = 0;  ///< the highest rank of those that are kept, once there are enough
  bool is_full_ = false;
};

}  // namespace

auto sort(const row_set& rows, std::uint32_t key_id, sort_direction direction, braid::arena& memory) -> row_set {
  const std::optional<column> by = rows.table().find(key_id);
  if (!by) return rows;
  const std::span<sort_item> items = memory.uninitialized<sort_item>(rows.size());
  std::size_t front = 0;
  std::size_t back = rows.size();  // nulls fill the end backwards
  with_ranks(rows, *by, direction, memory, [&](auto rank) {
    for (std::uint32_t position = 0; position < rows.size(); ++position) {
      const std::uint32_t row = rows.row(position);
      if (by->is_null(row))
        items[--back].row = row;
      else
        items[front++] = {.rank = rank(row), .position = position, .row = row};
    }
  });
  sort_items(items.first(front), memory);
  std::ranges::reverse(items.subspan(front));
  const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(rows.size());
  std::ranges::transform(items, order.begin(), &sort_item::row);
  return {rows.table(), order};
}

auto sort_first(const row_set& rows, std::uint32_t key_id, sort_direction direction, std::size_t count,
                braid::arena& memory) -> row_set {
  constexpr std::size_t worth_choosing = 4;  // with more of the rows wanted, sorting all of them is as quick
  const std::optional<column> by = rows.table().find(key_id);
  if (!by || count == 0) return rows.take(count);
  if (count > rows.size() / worth_choosing) return sort(rows, key_id, direction, memory).take(count);
  lowest_items known(count, memory);
  const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(count);
  std::size_t nulls = 0;  // that fill `order` until it is known whether there is room for them
  with_ranks(rows, *by, direction, memory, [&](auto rank) {
    for (std::uint32_t position = 0; position < rows.size(); ++position) {
      const std::uint32_t row = rows.row(position);
      if (!by->is_null(row))
        known.add({.rank = rank(row), .position = position, .row = row});
      else if (nulls < count)
        order[nulls++] = row;
    }
  });
  const std::span<const sort_item> first = known.finish();
  std::copy_backward(order.begin(), order.end() - static_cast<std::ptrdiff_t>(first.size()), order.end());
  std::ranges::transform(first, order.begin(), &sort_item::row);
  return {rows.table(), order};
}

}  // namespace rankd
