// rankd/rows/mmr.hpp: orders rows by maximal marginal relevance: each row is relevant and differs from the rows before
// it.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/sync/stop_flag.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>

namespace rankd {

struct mmr_options {
  std::uint32_t relevance_key = 0;  ///< a key of floats or integers
  std::uint32_t vector_key = 0;     ///< a key of vectors
  double lambda = 0.5;              ///< from 0 (only dissimilarity counts) to 1 (only relevance counts)
  std::size_t count = 1;            ///< the maximum number of rows
  /// This flag is read before each row is chosen. If the flag is set, the rows chosen so far are returned.
  const braid::stop_flag* stop = nullptr;
};

/// Chooses rows one after another, and returns them in this order. Each choice is the remaining row with the greatest
/// `lambda * relevance - (1 - lambda) * similarity`. The similarity of a row is its greatest cosine with a row that was
/// chosen before. The similarity is 0 for the first row and for rows without a vector. If several rows are equally
/// good, the first of them is chosen. Rows whose relevance is null or not finite follow all other rows, in their order.
/// Rows that are not chosen are left out. Copies no column. The result has the same bits on every machine.
/// Cost: a product of vectors for each pair of a chosen and a remaining row.
/// Source: Carbonell, Goldstein, "The use of MMR, diversity-based reranking", SIGIR 1998.
auto maximal_marginal_relevance(const row_set& rows, const mmr_options& options, braid::arena& memory) -> row_set;

}  // namespace rankd
