// rankd/rows/row_set.hpp: what flows along an edge of a plan: a batch, and which of its rows are active in which order.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <rankd/rows/batch.hpp>
#include <rankd/rows/bitmap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace rankd {

/// A batch and its active rows in their current order. *Row* is a number within the batch, *position* one within the
/// order. Selection and order are one list of rows, since the second is always a permutation of the first: one thing
/// to walk, to cut (`take` shortens it) and to check. Without a list the active rows are the first ones of the batch,
/// as they lie: sources, `vm` and `take` then need no memory, and columns are read straight through.
/// A value of a few words: copying one shares everything.
/// Threads: any, once made. Lifetime: refers to memory of an arena.
class row_set {
 public:
  row_set() = default;
  /// Every row of `table`, as they lie.
  explicit row_set(const batch& table) noexcept : table_(table), size_(table.size()) {}
  /// The rows of `table` that `order` names, in that order. Requires distinct numbers below the length of `table`.
  row_set(const batch& table, std::span<const std::uint32_t> order) noexcept
      : table_(table), order_(order.data()), size_(order.size()) {}

  /// Returns the batch, active rows or not.
  [[nodiscard]] auto table() const noexcept -> const batch& { return table_; }
  /// Returns how many rows are active.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return size_ == 0; }

  /// Returns true if each position is the row with the same number.
  [[nodiscard]] auto is_prefix() const noexcept -> bool { return order_ == nullptr; }
  /// Returns the active rows in order. Requires that it is not a prefix.
  [[nodiscard]] auto order() const noexcept -> std::span<const std::uint32_t> { return {order_, size_}; }

  /// Returns the row at a position.
  [[nodiscard]] auto row(std::size_t position) const noexcept -> std::uint32_t {
    return order_ == nullptr ? static_cast<std::uint32_t>(position) : order_[position];
  }
  /// Returns the id at a position. Requires ids that are integers.
  [[nodiscard]] auto id(std::size_t position) const noexcept -> std::int64_t { return table_.ids()[row(position)]; }

  /// Calls `fn(row)` for each active row in order.
  template <typename Fn>
  void for_each_row(Fn&& fn) const {
    if (order_ == nullptr) {
      for (std::uint32_t row = 0; row < size_; ++row) fn(row);
    } else {
      for (const std::uint32_t row : order()) fn(row);
    }
  }

  /// Returns the first `count` active rows, or all if there are fewer. Copies nothing.
  [[nodiscard]] auto take(std::size_t count) const noexcept -> row_set {
    row_set fewer = *this;
    fewer.size_ = std::min(count, size_);
    return fewer;
  }

  /// Returns the active rows at whose position `kept` has a bit, in the same order. Copies no column.
  [[nodiscard]] auto select(bitmap kept, braid::arena& memory) const -> row_set;

  /// Returns the same rows with one more column, which has a value for every row of the batch; as `batch::with_column`.
  [[nodiscard]] auto with_column(std::uint32_t key_id, const column& values, braid::arena& memory) const -> row_set {
    row_set wider = *this;
    wider.table_ = table_.with_column(key_id, values, memory);
    return wider;
  }

 private:
  batch table_;
  const std::uint32_t* order_ = nullptr;
  std::size_t size_ = 0;
};
static_assert(std::is_trivially_copyable_v<row_set> && std::is_trivially_destructible_v<row_set>);

}  // namespace rankd
