// rankd/rows/diversify.hpp: reorders rows so that equal values are apart, or so that certain rows are at fixed
// positions.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/rows/bitmap.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

/// The rule for a row that is not allowed at its turn: `later` places the row as soon as it is allowed, and `drop`
/// leaves the row out.
enum class overflow_rule : std::uint8_t { later, drop };

struct window_options {
  std::uint32_t key_id = 0;
  std::size_t at_most = 1;  ///< at least 1
  std::size_t window = 0;   ///< the number of consecutive rows; 0: all rows
  overflow_rule overflow = overflow_rule::later;
};

/// Returns rows such that any `window` consecutive rows contain each value of the key at most `at_most` times. With
/// `later`, each position gets the first remaining row that is allowed there, or simply the first remaining row if no
/// row is allowed. With `drop`, a row is left out if it is not allowed after the rows chosen before it. Without a
/// window, `drop` keeps the first `at_most` rows of each value. A null is not equal to any value, and values are
/// compared as in `distinct`. Copies no column.
/// Cost: about one lookup in a hash table for each active row, and a heap operation for each row that moves.
auto limit_repeats(const row_set& rows, const window_options& options, braid::arena& memory) -> row_set;

struct slot_options {
  std::size_t first = 1;  ///< the first slot, as a position from 1
  std::size_t every = 1;  ///< the distance between two slots; at least 1
  overflow_rule overflow = overflow_rule::later;
};

/// Places the wanted rows in the slots and the other rows between them. A row is wanted if the bit of its position is
/// set in `wanted`. Both kinds of rows keep their order. If no wanted row remains, other rows fill the slots. If only
/// wanted rows remain, they are appended (`later`) or left out (`drop`). Copies no column. Cost: one pass.
auto fill_slots(const row_set& rows, bitmap wanted, const slot_options& options, braid::arena& memory) -> row_set;

}  // namespace rankd
