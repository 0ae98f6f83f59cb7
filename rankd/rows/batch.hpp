// rankd/rows/batch.hpp: columns side by side.
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

/// Ids and any number of columns of the same length. A value of a few words: copying one shares everything.
/// Threads: any, once made. Lifetime: refers to memory of an arena.
class batch {
 public:
  /// Row numbers have 32 bits.
  static constexpr std::size_t max_rows = std::numeric_limits<std::uint32_t>::max();

  batch() = default;
  /// Requires at most `max_rows` ids, and `columns` of that length with ascending key ids, none of them that of `id`.
  explicit batch(std::span<const std::int64_t> ids, std::span<const keyed_column> columns = {});
  /// The same of ids that are texts.
  explicit batch(const string_values& ids, std::span<const keyed_column> columns = {});

  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Requires ids that are integers.
  [[nodiscard]] auto ids() const noexcept -> std::span<const std::int64_t> { return {numbers_, size_}; }
  /// Returns nothing if the ids are integers.
  [[nodiscard]] auto text_ids() const noexcept -> std::optional<string_values> {
    return words_ == nullptr ? std::nullopt : std::optional(string_values{{codes_, size_}, words_});
  }
  /// Returns the id of a row, for messages and for what is done once.
  [[nodiscard]] auto id(std::uint32_t row) const -> row_id;
  /// All columns but `id`, ascending by key id.
  [[nodiscard]] auto columns() const noexcept -> std::span<const keyed_column> { return columns_; }

  /// Returns the column of a key, `id` included; nothing if the batch does not have it, which means null in every row.
  [[nodiscard]] auto find(std::uint32_t key_id) const noexcept -> std::optional<column>;

  /// Returns this batch with one more column, which replaces an existing column with the same key. Shares all other
  /// columns. Requires a column of the same length and a key other than `id`.
  [[nodiscard]] auto with_column(std::uint32_t key_id, const column& values, braid::arena& memory) const -> batch;

  /// Returns the same ids with these columns and no others. Requires what the constructor does.
  [[nodiscard]] auto with_only(std::span<const keyed_column> columns) const -> batch;

 private:
  const std::int64_t* numbers_ = nullptr;
  const std::uint32_t* codes_ = nullptr;  ///< of texts
  const dictionary* words_ = nullptr;     ///< for ids that are texts; null if ids are integers
  std::size_t size_ = 0;
  std::span<const keyed_column> columns_;
};
static_assert(std::is_trivially_copyable_v<batch> && std::is_trivially_destructible_v<batch>);

}  // namespace rankd
