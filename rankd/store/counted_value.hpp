// rankd/store/counted_value.hpp: a value in memory that events have written: a hash, a list, a set or a sorted set.
#pragma once

#include <rankd/store/record.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {

/// A hash as in Redis: its values are texts.
struct counted_hash {
  static constexpr record_kind kind = record_kind::hash;

  std::vector<std::pair<std::string, std::string>> fields;  ///< the fields, in ascending order of their names

  [[nodiscard]] auto find(std::string_view name) const noexcept -> const std::string*;
  void set(std::string_view name, std::string value);

  auto operator==(const counted_hash&) const -> bool = default;
};

/// A list with the newest element first.
struct counted_list {
  static constexpr record_kind kind = record_kind::text_list;

  std::vector<std::string> elements;

  /// Inserts an element at the front, and drops elements at the end beyond `max_items`.
  void push(std::string_view element, std::size_t max_items);

  auto operator==(const counted_list&) const -> bool = default;
};

/// A set of texts.
struct counted_set {
  static constexpr record_kind kind = record_kind::set;

  std::vector<std::string> members;  ///< in ascending order

  /// Adds a member. Returns false and adds nothing if the set already has `max_items` other members.
  auto add(std::string_view member, std::size_t max_items) -> bool;
  void remove(std::string_view member);

  auto operator==(const counted_set&) const -> bool = default;
};

/// A sorted set, in the order of Redis: by score, and by bytes if scores are equal.
struct counted_sorted_set {
  static constexpr record_kind kind = record_kind::sorted_set;

  struct item {
    std::string text;
    double score = 0;

    auto operator==(const item&) const -> bool = default;
  };

  std::vector<item> items;
  std::vector<std::uint32_t> by_text;  ///< positions in `items`, ordered by the texts of the items

  /// Returns the position of a member, or nothing if the member is absent. Cost: a binary search.
  [[nodiscard]] auto find(std::string_view member) const noexcept -> std::optional<std::size_t>;
  /// Adds a member, or changes its score. Cost: linear.
  void set(std::string_view member, double score);
  void remove(std::string_view member);
  /// Removes the members with the lowest scores until `max_items` are left.
  void keep_highest(std::size_t max_items);
  /// Removes the members whose score is below `min`.
  void remove_below(double min);

  auto operator==(const counted_sorted_set&) const -> bool = default;

 private:
  void remove_at(std::size_t place);
  void remove_first(std::size_t count);
};

/// The value of a key, and the time at which the value expires. It has the same functions for reading as `record_view`.
struct counted_value {
  std::chrono::milliseconds ends{0};  ///< the time of expiry since 1970; zero: the value does not expire
  std::variant<counted_hash, counted_list, counted_set, counted_sorted_set> data = {};

  [[nodiscard]] auto kind() const noexcept -> record_kind;
  /// Returns the number of fields, elements or members. An empty value counts as absent, as in Redis.
  [[nodiscard]] auto count() const noexcept -> std::size_t;
  /// Returns the number of bytes of memory that the fields, elements and members use, estimated from their lengths.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t;

  /// Returns the value of a field. Requires a hash.
  [[nodiscard]] auto field(std::string_view name) const -> std::optional<std::string_view>;
  /// Returns an element or member by position. Requires a list, set or sorted set, and index < count().
  [[nodiscard]] auto text_at(std::size_t index) const -> std::string_view;
  /// Returns a score by position. Requires a sorted set, and index < count().
  [[nodiscard]] auto score_at(std::size_t index) const -> double;
  /// Returns the position of a member. Requires a set or sorted set.
  [[nodiscard]] auto find_member(std::string_view member) const -> std::optional<std::size_t>;

  auto operator==(const counted_value&) const -> bool = default;
};

}  // namespace rankd
