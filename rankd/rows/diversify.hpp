// rankd/rows/diversify.hpp: orders in which equal values stand apart, or rows of some kind at fixed positions.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/bitmap.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

/// What becomes of a row that may not stand at its turn: it comes as soon as it may, or it is left out.
enum class overflow_rule : std::uint8_t { later, drop };

struct window_options {
  std::uint32_t key_id = 0;
  std::size_t at_most = 1;  ///< at least 1
  std::size_t window = 0;   ///< so many rows in succession; 0 means all
  overflow_rule overflow = overflow_rule::later;
};

/// The rows with at most `at_most` of one value under the key among any `window` in succession. Each position takes the
/// first row that is left and may stand there. Where none may, `later` takes the first that is left all the same.
/// `drop` leaves out each row that may not stand behind those that stay, so that without a window it gives the first
/// rows of each value. A null equals nothing, and values are equal as for `distinct`. Copies no column.
/// Cost: about one lookup in a hash table for each active row; a row that moves also costs a step in a heap.
auto limit_repeats(const row_set& rows, const window_options& how, braid::arena& memory) -> row_set;

struct slot_options {
  std::size_t first = 1;  ///< the first slot, as a position from 1
  std::size_t every = 1;  ///< from one slot to the next; at least 1
  overflow_rule overflow = overflow_rule::later;
};

/// The rows at whose positions `wanted` has a bit in the slots, the others between them, both in their order. A slot
/// for which no row is left goes to the others. Wanted rows that are left when the others have ended follow them, or
/// are left out. Copies no column. Cost: one pass.
auto fill_slots(const row_set& rows, bitmap wanted, const slot_options& how, braid::arena& memory) -> row_set;

}  // namespace rankd
