// rankd/rows/aggregate.hpp: one number of many rows, as a column: counts, sums, and ranks of several lists together.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstdint>
#include <optional>

namespace rankd {

enum class aggregate_kind : std::uint8_t { count, sum, mean, min, max };

struct aggregate_options {
  aggregate_kind kind = aggregate_kind::count;
  std::uint32_t key_id = 0;                ///< a key of integers or floats; unused by a count
  std::optional<std::uint32_t> group_key;  ///< without it all rows are one group
};

/// Returns a column of floats that contains, for each active row, the aggregate of its group: the active rows with the
/// same value under the group key, equal as for `distinct`; a row without such a value is a group of its own. Nulls are
/// ignored, and the aggregate of nulls only is null. Integers become the nearest floats. Values are added in the order
/// of the rows, so that the sum is the same on every machine; it may be infinite.
/// Cost: one pass, and about one lookup in a hash table for each active row if there is a group key.
auto aggregate(const row_set& rows, const aggregate_options& options, braid::arena& memory) -> column;

/// The first row of each id, and a score for each of these.
struct fused_ranks {
  row_set rows;
  column scores;
};

/// Reciprocal rank fusion of lists that lie one after the other, or mixed, in one set of rows: those with the same
/// value under the list key, in the order that the rows have, are one list. The score of an id is the sum, over the
/// lists that have it, of 1 / (k + rank); ranks count from 1, and only the first rank in a list counts. Rows without a
/// value under the list key are in no list. Lists are added in the order in which they first come.
/// Requires k of at least 0. Cost: about two lookups in a hash table for each active row.
/// Source: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet", SIGIR 2009.
auto fuse_ranks(const row_set& rows, std::uint32_t list_key, double k, braid::arena& memory) -> fused_ranks;

}  // namespace rankd
