// rankd/rows/equal_rows.hpp: finds rows with equal values under a key, to keep one row of each value, or to find
// partners in another row set.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstdint>
#include <expected>
#include <limits>
#include <span>

namespace rankd {

/// States which of several rows with the same value is kept.
enum class survivor : std::uint8_t { first, last, highest };

struct distinct_options {
  std::uint32_t key_id = 0;
  survivor stays = survivor::first;
  /// The key of integers or floats that `highest` compares. A null is lower than any value. If several rows have the
  /// highest score, the first of them is kept.
  std::uint32_t score_key = 0;
};

/// Returns one active row for each value under the key, in the order of the rows. A null is not equal to any value, so
/// all rows without a value are kept, and a missing column changes nothing. Integers and ids are compared exactly,
/// strings by their bytes, and -0 equals 0. Copies no column. Cost: about one lookup in a hash table for each active
/// row.
auto distinct(const row_set& rows, const distinct_options& options, braid::arena& memory) -> row_set;

/// The number that represents a null. It is greater than the number of any value.
inline constexpr std::uint32_t no_value = std::numeric_limits<std::uint32_t>::max();

/// The numbers of the rows' values. Equal values have the same number.
struct numbered_values {
  std::span<const std::uint32_t> numbers;  ///< for each position of the rows, the number of its value
  std::uint32_t count = 0;                 ///< all numbers except `no_value` are below it
};

/// Returns the number of the value at each position. Equal values, as defined for `distinct`, have the same number.
/// Values are numbered from 0 in the order of their first occurrence. A null has the number `no_value`. If the column
/// is missing, all rows have this number.
/// Cost: about one lookup in a hash table for each active row.
auto number_values(const row_set& rows, std::uint32_t key_id, braid::arena& memory) -> numbered_values;

/// Marks a row that has no partner. No row of a batch has this number.
inline constexpr std::uint32_t no_partner = std::numeric_limits<std::uint32_t>::max();

/// The error for two active rows of the right side that have the same value.
struct repeated_value {
  std::uint32_t row = 0;  ///< the second of these rows
};

/// Returns the partner of each position of `left`: the active row of `right` with the same value under the key, as
/// defined for `distinct`, or `no_partner`. If one side lacks the column, no row has a partner. Requires that the key
/// has the same type on both sides. Cost: about one lookup in a hash table for each active row of both sides, and for
/// strings one pass over both dictionaries.
auto find_partners(const row_set& left, const row_set& right, std::uint32_t key_id, braid::arena& memory)
    -> std::expected<std::span<const std::uint32_t>, repeated_value>;

}  // namespace rankd
