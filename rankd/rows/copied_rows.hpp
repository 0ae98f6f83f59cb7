// rankd/rows/copied_rows.hpp: copies rows, so that they can outlive the memory in which they were created.
#pragma once

#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>

namespace rankd {

/// Returns a new batch with a copy of the active rows, in their order. The new batch shares no memory with `rows`.
/// Strings that only inactive rows use are not copied. Cost: a pass over the active rows for each column.
auto copied_rows(const row_set& rows, braid::arena& memory) -> row_set;

}  // namespace rankd
