// rankd/rows/sort.hpp: active rows in the order of a column, all of them or the first.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

enum class sort_direction : std::uint8_t { ascending, descending };

/// Returns the same active rows, ordered by the column of `key_id`. Equal ones keep their order, nulls come last in
/// both directions; a missing column changes nothing. Integers and ids compare exactly, strings by their bytes, false
/// before true. Copies no column. Cost: a few passes over the active rows; a string column sorts the entries of its
/// dictionary that occur.
auto sort(const row_set& rows, std::uint32_t key_id, sort_direction direction, braid::arena& memory) -> row_set;

/// The first `count` rows of what `sort` gives.
/// Cost: one pass over the active rows, and the sorting of a few times `count`; never more than sorting all.
auto sort_first(const row_set& rows, std::uint32_t key_id, sort_direction direction, std::size_t count,
                braid::arena& memory) -> row_set;

}  // namespace rankd
