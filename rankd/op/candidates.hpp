// rankd/op/candidates.hpp: the rows that a request contains in its field `candidates`, for example in a re-ranking
// service.
#pragma once

#include <rankd/rows/batch.hpp>

#include <braid/base/arena.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankd {

/// The maximum number of rows that one request may contain.
inline constexpr std::size_t max_candidates = 10'000;

/// The two JSON forms of the rows in a request.
enum class candidates_form : std::uint8_t {
  rows,     ///< an array with an object for each row
  columns,  ///< an object with an array for each column
};

/// The `candidates` of a request, as typed columns. The object is immutable after parsing, and copies of the request
/// share it.
/// Threads: any, after parsing.
struct candidate_rows {
  braid::arena memory;  ///< the memory of `rows`
  batch rows;
  candidates_form form = candidates_form::rows;
  std::vector<std::uint32_t> first_rows = {};  ///< for each column of `rows`, the first row that names it
};

}  // namespace rankd
