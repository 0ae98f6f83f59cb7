// rankd/engine/explain/answer_comparison.hpp: two answers to one request held against each other: overlap and
// rank-biased overlap.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/registry/row_id.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rankd {

/// How much of two answers is the same.
enum class answer_change : std::uint8_t {
  equal,       ///< the same candidates with the same values that are shown, in the same order; or the same error code
  values,      ///< the same candidates in the same order, with other values, or another page follows, or none
  order,       ///< the same candidates in another order
  candidates,  ///< other candidates
  error,       ///< one of them is an error, or both are, with other codes
};
inline constexpr std::size_t answer_changes = 5;

/// equal, values, order, candidates, error.
[[nodiscard]] auto to_string(answer_change change) noexcept -> std::string_view;

/// What two answers to one request have in common.
struct answer_verdict {
  answer_change change = answer_change::equal;
  double overlap = 1;  ///< `overlap_at`; 0 where one of them alone is an error
  double rbo = 1;      ///< `rank_biased_overlap`; the same
};

/// How much the ranks at the top count more than those below them: the weight of a rank is `p` times that above it.
inline constexpr double rbo_persistence = 0.9;

/// The names of plans and nodes, cursors, arms of experiments, explanations and captured rows do not count, nor do
/// messages of errors.
[[nodiscard]] auto compare_answers(const ranking& before, const ranking& after, std::size_t depth) -> answer_verdict;

/// The ids of the candidates, the best first; none of an error.
[[nodiscard]] auto candidate_ids(const ranking& answer) -> std::vector<row_id>;

/// How many of the first `depth` ids both lists have there, of as many as the longer one has. An id that comes again is
/// another one. 1 where both are empty.
[[nodiscard]] auto overlap_at(std::span<const row_id> before, std::span<const row_id> after, std::size_t depth)
    -> double;

/// Rank-biased overlap: how much of both lists is the same down to each rank, on average, where a rank has `p` times
/// the weight of the one above it; below the longer list as much as at its end. The shorter one has ended: nothing is
/// assumed of it. 1 for equal lists, 0 for those without a common id. An id that comes again is another one. Source:
/// Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", 2010, equation 23.
[[nodiscard]] auto rank_biased_overlap(std::span<const row_id> before, std::span<const row_id> after,
                                       double p = rbo_persistence) -> double;

}  // namespace rankd
