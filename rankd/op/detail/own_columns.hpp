// rankd/op/detail/own_columns.hpp: converts columns to and from the plain arrays that libraries of operators read and
// write.
#pragma once

#include <rankd/abi/c_operators.h>
#include <rankd/op/detail/written_key.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace rankd::detail {

/// A key that a library operator reads.
struct seen_key {
  std::uint32_t key_id = 0;
  value_type type = value_type::floating;
};

/// The initial value of `kept`. It means that the library has not set the number of rows yet.
inline constexpr std::uint64_t unset_order = std::numeric_limits<std::uint64_t>::max();

/// Returns the constant RANKD_TYPE_… for a type, or 0 if columns of this type are not passed to libraries.
auto type_number(value_type type) noexcept -> std::uint32_t;

/// Returns the approximate number of bytes to allocate for the columns in `reads` and `writes`, before the library
/// runs.
auto own_bytes(const row_set& rows, std::span<const seen_key> reads, std::span<const written_key> writes)
    -> std::uint64_t;

/// Returns the values of the active rows, in the order of the rows. If the rows lack the column, every value is null.
/// Copies nothing if the values are already in this order.
auto gathered(const row_set& rows, const seen_key& key, braid::arena& memory) -> rankd_column;

/// Returns a column with `rows` null values. The library can then set values.
auto blank(value_type type, std::size_t rows, braid::arena& memory) -> rankd_written;

/// Builds a column of a batch from the values that a library wrote for the active rows of `rows`. All other rows are
/// null. Errors: a message about an invalid text, which continues a sentence that begins with "the value".
auto scattered(const row_set& rows, const rankd_written& from, braid::arena& memory)
    -> std::expected<column, std::string>;

/// Returns the rows that a library chose. Errors: a sentence about the error, if the library chose a row that does not
/// exist, chose a row twice, or reordered rows although its declared effect does not allow that.
auto chosen_rows(const row_set& rows, std::span<const std::uint32_t> order, std::uint64_t kept, row_change effect,
                 braid::arena& memory) -> std::expected<row_set, std::string>;

}  // namespace rankd::detail
