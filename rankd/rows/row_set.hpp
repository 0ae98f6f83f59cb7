// rankd/rows/row_set.hpp: the data that one node of a plan passes to another: a batch, and the order of its active
// rows.
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

/// A batch and its active rows in their current order. A *row* is an index into the batch; a *position* is an index
/// into the order. Selection and order are stored as one list of rows, so `take` only shortens the list. Without a
/// list, the active rows are the first rows of the batch in their natural order. In this case, `take`, operators that
/// are sources, and the operator `vm` allocate no list, and columns are read sequentially.
/// The object is a few words in size, and copies share all data.
/// Threads: any, once constructed. Lifetime: the arena that contains the data outlives it.
class row_set {
 public:
  row_set() = default;
  /// Creates a set of all rows of `table`, in their natural order.
  explicit row_set(const batch& table) noexcept : table_(table), size_(table.size()) {}
  /// Creates a set of the rows in `order`, in this order. Requires distinct numbers below the length of `table`.
  row_set(const batch& table, std::span<const std::uint32_t> order) noexcept
      : table_(table), order_(order.data()), size_(order.size()) {}

  /// Returns the batch, which contains active and inactive rows.
  [[nodiscard]] auto table() const noexcept -> const batch& { return table_; }
  /// Returns the number of active rows.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return size_ == 0; }

  /// Returns true if the active rows are the first rows of the batch in their natural order.
  [[nodiscard]] auto is_prefix() const noexcept -> bool { return order_ == nullptr; }
  /// Returns the active rows in order. Requires that `is_prefix()` is false.
  [[nodiscard]] auto order() const noexcept -> std::span<const std::uint32_t> { return {order_, size_}; }

  /// Returns the number of the row at a position.
  [[nodiscard]] auto row(std::size_t position) const noexcept -> std::uint32_t {
    return order_ == nullptr ? static_cast<std::uint32_t>(position) : order_[position];
  }
  /// Returns the id at a position. Requires integer ids.
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

  /// Returns the first `count` active rows, or all active rows if there are fewer. Copies nothing.
  [[nodiscard]] auto take(std::size_t count) const noexcept -> row_set {
    row_set fewer = *this;
    fewer.size_ = std::min(count, size_);
    return fewer;
  }

  /// Returns the active rows at the positions whose bits are set in `kept`, in the same order. Copies no column.
  [[nodiscard]] auto select(bitmap kept, braid::arena& memory) const -> row_set;

  /// Returns the same rows with one more column, which has a value for every row of the batch. Behaves like
  /// `batch::with_column`.
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
