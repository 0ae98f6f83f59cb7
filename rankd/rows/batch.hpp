// rankd/rows/batch.hpp: a batch of rows, stored as columns of equal length.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/registry/row_id.hpp>
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

/// A batch of rows: ids and any number of columns of the same length. The object is a few words in size, and copies
/// share all data.
/// Threads: any, once constructed. Lifetime: the arena that contains the data outlives it.
class batch {
 public:
  /// The maximum number of rows, because row numbers have 32 bits.
  static constexpr std::size_t max_rows = std::numeric_limits<std::uint32_t>::max();

  batch() = default;
  /// Creates a batch with integer ids. Requires at most `max_rows` ids, and `columns` of the same length, ascending by
  /// key id and without a column for `id`.
  explicit batch(std::span<const std::int64_t> ids, std::span<const keyed_column> columns = {});
  /// Creates a batch with string ids. Has the same requirements as the constructor for integer ids.
  explicit batch(const string_values& ids, std::span<const keyed_column> columns = {});

  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Returns the ids. Requires integer ids.
  [[nodiscard]] auto ids() const noexcept -> std::span<const std::int64_t> { return {numbers_, size_}; }
  /// Returns the string ids, or nothing if the ids are integers.
  [[nodiscard]] auto text_ids() const noexcept -> std::optional<string_values> {
    return words_ == nullptr ? std::nullopt : std::optional(string_values{{codes_, size_}, words_});
  }
  /// Returns the id of a row. Use this only for messages and other rare purposes, because reading `ids` is faster.
  [[nodiscard]] auto id(std::uint32_t row) const -> row_id;
  /// Returns all columns except `id`, ascending by key id.
  [[nodiscard]] auto columns() const noexcept -> std::span<const keyed_column> { return columns_; }

  /// Returns the column of a key, including `id`. Returns nothing if the batch lacks the column, which means null in
  /// every row.
  [[nodiscard]] auto find(std::uint32_t key_id) const noexcept -> std::optional<column>;

  /// Returns this batch with one more column, which replaces an existing column with the same key. Shares all other
  /// columns. Requires a column of the same length and a key other than `id`.
  [[nodiscard]] auto with_column(std::uint32_t key_id, const column& values, braid::arena& memory) const -> batch;

  /// Returns a batch with the same ids and exactly these columns. Has the same requirements as the constructor.
  [[nodiscard]] auto with_only(std::span<const keyed_column> columns) const -> batch;

 private:
  const std::int64_t* numbers_ = nullptr;
  const std::uint32_t* codes_ = nullptr;  ///< the codes of text ids
  const dictionary* words_ = nullptr;     ///< for ids that are texts; null if ids are integers
  std::size_t size_ = 0;
  std::span<const keyed_column> columns_;
};
static_assert(std::is_trivially_copyable_v<batch> && std::is_trivially_destructible_v<batch>);

}  // namespace rankd
