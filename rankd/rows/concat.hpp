// rankd/rows/concat.hpp: the rows of several sets, one after the other.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <span>

namespace rankd {

/// Returns the active rows of `left` in order, then those of `right`, as one dense batch. It has the columns of both;
/// if one side lacks a column, its rows are null. Dictionaries are merged: the entries of `left`, then the new ones of
/// `right`, both in their order. Requires that a key has the same type on both sides, and at most `batch::max_rows`
/// rows together.
/// Cost: one pass over each column. Lifetime: strings and whole dictionaries are shared with the operands.
auto concat(const row_set& left, const row_set& right, braid::arena& memory) -> row_set;

/// The same of any number of sets, with what is said of `left` for those in front.
auto concat(std::span<const row_set> sets, braid::arena& memory) -> row_set;

}  // namespace rankd
