// rankd/op/detail/own_columns.hpp: columns as libraries of operators see them, and back.
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

/// A key that an operator of a library reads.
struct seen_key {
  std::uint32_t key_id = 0;
  value_type type = value_type::floating;
};

/// The value of `kept` before the library states how many rows it keeps.
inline constexpr std::uint64_t unset_order = std::numeric_limits<std::uint64_t>::max();

/// Returns the constant RANKD_TYPE_… of a type; 0 for a type that libraries do not see.
auto type_number(value_type type) noexcept -> std::uint32_t;

/// Returns the approximate number of bytes that are allocated for these columns before the library runs.
auto own_bytes(const row_set& rows, std::span<const seen_key> reads, std::span<const written_key> writes)
    -> std::uint64_t;

/// Returns the values of the active rows in their order; all null if there is no column. Copies nothing if the values
/// are already in this order.
auto gathered(const row_set& rows, const seen_key& key, braid::arena& memory) -> rankd_column;

/// Returns a column for `rows` rows, all of them null.
auto blank(value_type type, std::size_t rows, braid::arena& memory) -> rankd_written;

/// Returns the values that a library wrote for the active rows of `rows`, as a column of their batch; the other rows
/// are null. Errors: the fault of a text, as the continuation of a sentence that begins with "the value".
auto scattered(const row_set& rows, const rankd_written& from, braid::arena& memory)
    -> std::expected<column, std::string>;

/// Returns the rows that a library chose. Errors: a sentence, if it chose a row that does not exist, or one twice, or
/// in a way that its effect does not allow.
auto chosen_rows(const row_set& rows, std::span<const std::uint32_t> order, std::uint64_t kept, row_change effect,
                 braid::arena& memory) -> std::expected<row_set, std::string>;

}  // namespace rankd::detail
