// rankd/rows/batch.hpp: columns side by side.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/column.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

namespace rankd {

struct keyed_column {
  std::uint32_t key_id = 0;
  column values;
};

/// Ids and any number of columns of the same length. A value of a few words: copying one shares everything.
/// Threads: any, once made. Lifetime: refers to memory of an arena.
class batch {
 public:
  /// Row numbers have 32 bits.
  static constexpr std::size_t max_rows = std::numeric_limits<std::uint32_t>::max();

  batch() = default;
  /// Requires at most `max_rows` ids, and `columns` of that length with ascending key ids, none of them that of `id`.
  explicit batch(std::span<const std::int64_t> ids, std::span<const keyed_column> columns = {});

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ids_.size(); }
  [[nodiscard]] auto ids() const noexcept -> std::span<const std::int64_t> { return ids_; }
  /// All columns but `id`, ascending by key id.
  [[nodiscard]] auto columns() const noexcept -> std::span<const keyed_column> { return columns_; }

  /// The column of a key, `id` included; nothing where the batch has none, which means null on every row.
  [[nodiscard]] auto find(std::uint32_t key_id) const noexcept -> std::optional<column>;

  /// This batch and one more column, in place of any that has the key already. Shares all others.
  /// Requires a column of the same length and a key other than `id`.
  [[nodiscard]] auto with_column(std::uint32_t key_id, const column& values, braid::arena& memory) const -> batch;

 private:
  std::span<const std::int64_t> ids_;
  std::span<const keyed_column> columns_;
};
static_assert(std::is_trivially_copyable_v<batch> && std::is_trivially_destructible_v<batch>);

}  // namespace rankd
