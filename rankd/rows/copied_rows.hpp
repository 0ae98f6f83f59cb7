// rankd/rows/copied_rows.hpp: rows that outlive the memory in which they were made.
#pragma once

#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>

namespace rankd {

/// Returns the active rows in their order, as a batch of their own that shares nothing with `rows`: the texts of other
/// rows are left behind. Cost: a pass over the active rows for each column.
auto copied_rows(const row_set& rows, braid::arena& memory) -> row_set;

}  // namespace rankd
