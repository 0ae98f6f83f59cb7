// rankd/rows/diversify.hpp: orders in which equal values stand apart, or rows of some kind at fixed positions.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/bitmap.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

/// What to do with a row that is not allowed at its turn: place it as soon as it is allowed, or leave it out.
enum class overflow_rule : std::uint8_t { later, drop };

struct window_options {
  std::uint32_t key_id = 0;
  std::size_t at_most = 1;  ///< at least 1
  std::size_t window = 0;   ///< so many rows in succession; 0 means all
  overflow_rule overflow = overflow_rule::later;
};

/// Returns rows such that among any `window` in succession at most `at_most` have the same value under the key. Each
/// position gets the first remaining row that is allowed there. If none is allowed, `later` places the first remaining
/// row nevertheless. `drop` leaves out each row that is not allowed after the kept ones, so that without a window it
/// returns the first rows of each value. A null equals nothing, and values are equal as for `distinct`. Copies no
/// column.
/// Cost: about one lookup in a hash table for each active row; a row that moves also costs a step in a heap.
auto limit_repeats(const row_set& rows, const window_options& options, braid::arena& memory) -> row_set;

struct slot_options {
  std::size_t first = 1;  ///< the first slot, as a position from 1
  std::size_t every = 1;  ///< from one slot to the next; at least 1
  overflow_rule overflow = overflow_rule::later;
};

/// Returns the rows at whose positions `wanted` has a bit in the slots, the others between them, both in their order. A
/// slot for which no row is left goes to the others. Wanted rows that are left when the others have ended follow them,
/// or are left out. Copies no column. Cost: one pass.
auto fill_slots(const row_set& rows, bitmap wanted, const slot_options& options, braid::arena& memory) -> row_set;

}  // namespace rankd
