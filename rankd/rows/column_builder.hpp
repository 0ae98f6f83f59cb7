// rankd/rows/column_builder.hpp: builds a column value by value.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <rankd/rows/column.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace rankd {

/// A type of values for which a column can be built.
template <typename T>
concept column_value = std::same_as<T, double> || std::same_as<T, std::int64_t> || std::same_as<T, bool> ||
                       std::same_as<T, std::string_view>;

namespace detail {

/// Replaces the dictionary in a builder whose values are not strings.
struct no_dictionary {
  explicit no_dictionary(braid::arena& /*memory*/) {}
};

}  // namespace detail

/// A builder of a column with a fixed number of rows. Rows are added from first to last. Each distinct string is stored
/// once.
/// Lifetime: the column is in the arena.
template <column_value T>
class column_builder {
  static constexpr bool of_strings = std::same_as<T, std::string_view>;
  using stored = std::conditional_t<of_strings, std::uint32_t, T>;

 public:
  column_builder(braid::arena& memory, std::size_t rows)
      : memory_(memory), values_(memory.uninitialized<stored>(rows)), words_(memory) {}

  void push(T value) {
    BRAID_ASSERT(size_ < values_.size(), "a column builder was given more rows than were announced");
    if constexpr (of_strings) {
      values_[size_++] = words_.intern(value);
    } else {
      values_[size_++] = value;
    }
  }

  void push_null() {
    BRAID_ASSERT(size_ < values_.size(), "a column builder was given more rows than were announced");
    if (validity_.empty()) validity_ = memory_.filled(words_for(values_.size()), ~std::uint64_t{0});
    clear_bit(validity_.data(), size_);
    values_[size_++] = stored{};
  }

  /// Returns the column. Requires that all rows were added. No value may be added afterwards.
  [[nodiscard]] auto finish() -> column {
    BRAID_EXPECTS(size_ == values_.size(), "a column builder must be given every row that was announced");
    const bitmap validity = validity_.empty() ? bitmap() : bitmap(validity_.data());
    if constexpr (of_strings) {
      return {.values = string_values{values_, words_.finish()}, .validity = validity};
    } else {
      return {.values = std::span<const T>(values_), .validity = validity};
    }
  }

 private:
  braid::arena& memory_;
  std::span<stored> values_;
  std::span<std::uint64_t> validity_;  ///< empty until the first null
  std::size_t size_ = 0;
  [[no_unique_address]] std::conditional_t<of_strings, dictionary_builder, detail::no_dictionary> words_;
};

}  // namespace rankd
