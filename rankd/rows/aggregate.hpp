// rankd/rows/aggregate.hpp: columns of numbers computed from many rows: counts, sums, and combined ranks of several
// lists.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstdint>
#include <optional>

namespace rankd {

enum class aggregate_kind : std::uint8_t { count, sum, mean, min, max };

struct aggregate_options {
  aggregate_kind kind = aggregate_kind::count;
  std::uint32_t key_id = 0;                ///< a key of integers or floats; not used for a count
  std::optional<std::uint32_t> group_key;  ///< if it is not set, all rows are one group
};

/// Returns a column of floats with the aggregate of each active row's group. A group consists of the active rows with
/// equal values under the group key, where equality is defined as for `distinct`. A row whose group key is null is a
/// group of its own. Null values are ignored, and the aggregate of a group without values is null. Integers are
/// converted to the nearest floats. Values are added in the order of the rows, so the sum is the same on every machine.
/// A sum may be infinite. Cost: one pass. If there is a group key, also about one lookup in a hash table for each
/// active row.
auto aggregate(const row_set& rows, const aggregate_options& options, braid::arena& memory) -> column;

/// The result of a fusion: the first row of each id, and a column with the scores of these rows.
struct fused_ranks {
  row_set rows;
  column scores;
};

/// Computes the reciprocal rank fusion of several lists. One set of rows contains all lists: rows with equal values
/// under the list key are one list, in the order of the rows. The score of an id is the sum of 1 / (k + rank) over the
/// lists that contain it. Ranks begin at 1, and only the first occurrence in a list counts. Rows without a value under
/// the list key are ignored. Lists are added in the order of their first rows.
/// Requires that k is at least 0. Cost: about two lookups in a hash table for each active row.
/// Source: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet", SIGIR 2009.
auto fuse_ranks(const row_set& rows, std::uint32_t list_key, double k, braid::arena& memory) -> fused_ranks;

}  // namespace rankd
