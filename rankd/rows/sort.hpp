// rankd/rows/sort.hpp: sorts active rows by a column, completely or only the first rows.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

enum class sort_direction : std::uint8_t { ascending, descending };

/// Returns the same active rows, ordered by the column of `key_id`. Equal rows keep their order, and nulls are last in
/// both directions. A missing column changes nothing. Integers and ids are compared exactly, strings by their bytes,
/// and false precedes true. Copies no column. Cost: a few passes over the active rows. For strings, also sorting the
/// dictionary entries that active rows use.
auto sort(const row_set& rows, std::uint32_t key_id, sort_direction direction, braid::arena& memory) -> row_set;

/// Returns the first `count` rows of the result of `sort`.
/// Cost: one pass over the active rows, and sorting some multiple of `count` items. The cost is never higher than that
/// of `sort`.
auto sort_first(const row_set& rows, std::uint32_t key_id, sort_direction direction, std::size_t count,
                braid::arena& memory) -> row_set;

}  // namespace rankd
