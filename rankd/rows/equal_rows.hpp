// rankd/rows/equal_rows.hpp: rows with the same value under a key: one of each value, and the partners in another set.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstdint>
#include <expected>
#include <limits>
#include <span>

namespace rankd {

/// Which row of those with the same value stays.
enum class survivor : std::uint8_t { first, last, highest };

struct distinct_options {
  std::uint32_t key_id = 0;
  survivor stays = survivor::first;
  /// For `highest`: the key of integers or floats that is compared. A null is lower than any value; among equals the
  /// first stays.
  std::uint32_t score_key = 0;
};

/// Returns one active row for each value under the key, in the order that the rows have. A null equals nothing: rows
/// without a value all stay, and a missing column changes nothing. Integers and ids are equal exactly, strings by their
/// bytes, and -0 equals 0. Copies no column. Cost: about one lookup in a hash table for each active row.
auto distinct(const row_set& rows, const distinct_options& options, braid::arena& memory) -> row_set;

/// Stands for the number of a null. There are fewer values than that.
inline constexpr std::uint32_t no_value = std::numeric_limits<std::uint32_t>::max();

/// A number for each distinct value of rows.
struct numbered_values {
  std::span<const std::uint32_t> numbers;  ///< for each position of the rows
  std::uint32_t count = 0;                 ///< every number but `no_value` is below it
};

/// Returns, for each position, the number of its value under the key, which is the same for equal values (as for
/// `distinct`). Values are numbered from 0 in the order of their first occurrence. A null, and every row if there is no
/// such column, has `no_value`.
/// Cost: about one lookup in a hash table for each active row.
auto number_values(const row_set& rows, std::uint32_t key_id, braid::arena& memory) -> numbered_values;

/// The partner of a row without a partner. No row of a batch has this number.
inline constexpr std::uint32_t no_partner = std::numeric_limits<std::uint32_t>::max();

/// Two active rows of the right side have the same value.
struct repeated_value {
  std::uint32_t row = 0;  ///< the second of them
};

/// Returns, for each position of `left`, the active row of `right` with the same value under the key, equal as for
/// `distinct`, or `no_partner`. If one side has no such column, no row has a partner. Requires that the key has the
/// same type on both sides. Cost: about one lookup in a hash table for each active row of both; strings also one pass
/// over both dictionaries.
auto find_partners(const row_set& left, const row_set& right, std::uint32_t key_id, braid::arena& memory)
    -> std::expected<std::span<const std::uint32_t>, repeated_value>;

}  // namespace rankd
