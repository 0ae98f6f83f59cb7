// rankd/op/candidates.hpp: rows that a request carries itself, as a re-ranking service receives them.
#pragma once

#include <rankd/rows/batch.hpp>

#include <braid/base/arena.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankd {

/// Rows that one request may carry.
inline constexpr std::size_t max_candidates = 10'000;

/// How a request spells its rows.
enum class candidates_form : std::uint8_t {
  rows,     ///< an array with an object for each row
  columns,  ///< an object with an array for each column
};

/// The `candidates` of a request, as typed columns. Immutable once read; copies of the request share it.
/// Threads: any, once read.
struct candidate_rows {
  braid::arena memory;  ///< the memory of `rows`
  batch rows;
  candidates_form form = candidates_form::rows;
  std::vector<std::uint32_t> first_rows = {};  ///< for each column of `rows`, the first row that names it
};

}  // namespace rankd
