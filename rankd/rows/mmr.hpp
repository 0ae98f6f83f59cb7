// rankd/rows/mmr.hpp: an order of rows that are relevant and unlike those before them: maximal marginal relevance.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/sync/stop_flag.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

struct mmr_options {
  std::uint32_t relevance_key = 0;         ///< of floats or integers
  std::uint32_t vector_key = 0;            ///< of vectors
  double lambda = 0.5;                     ///< from 0, unlike alone, to 1, relevant alone
  std::size_t count = 1;                   ///< so many rows at most
  const braid::stop_flag* stop = nullptr;  ///< polled before each row; what was chosen by then is given
};

/// Returns rows one by one: each is the remaining row with the greatest `lambda * relevance - (1 - lambda) *
/// similarity`. The similarity is the greatest cosine to a row that was chosen before, and 0 for the first row and for
/// rows without a vector. Among equals the first row is chosen. Rows whose relevance is null or not finite come after
/// all others, in their order. Rows that are not chosen are left out. Copies no column. The same bits on every machine.
/// Cost: a product of vectors for each pair of a chosen and a remaining row.
/// Source: Carbonell, Goldstein, "The use of MMR, diversity-based reranking", SIGIR 1998.
auto maximal_marginal_relevance(const row_set& rows, const mmr_options& options, braid::arena& memory) -> row_set;

}  // namespace rankd
