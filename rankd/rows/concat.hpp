// rankd/rows/concat.hpp: concatenates the rows of several row sets.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <span>

namespace rankd {

/// Returns the active rows of `left` and then those of `right`, each in order, as one dense batch. The batch has the
/// columns of both row sets. If one side lacks a column, the rows of that side are null in the column. The merged
/// dictionary contains the entries of `left`, followed by the new entries of `right`, in their order. Requires that a
/// key has the same type on both sides, and that there are at most `batch::max_rows` rows in all.
/// Cost: one pass over each column. Lifetime: the result shares strings, and dictionaries that are used unchanged, with
/// the operands.
auto concat(const row_set& left, const row_set& right, braid::arena& memory) -> row_set;

/// Concatenates any number of row sets in the given order, in the same way.
auto concat(std::span<const row_set> sets, braid::arena& memory) -> row_set;

}  // namespace rankd
