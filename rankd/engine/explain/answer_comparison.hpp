// rankd/engine/explain/answer_comparison.hpp: compares two answers to one request: overlap and rank-biased overlap.
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
  values,      ///< the same candidates in the same order, with other values, or a next page in only one answer
  order,       ///< the same candidates in another order
  candidates,  ///< other candidates
  error,       ///< one of them is an error, or both are, with different codes
};
inline constexpr std::size_t answer_changes = 5;

/// Returns equal, values, order, candidates or error.
[[nodiscard]] auto to_string(answer_change change) noexcept -> std::string_view;

/// How similar two answers to one request are.
struct answer_verdict {
  answer_change change = answer_change::equal;
  double overlap = 1;  ///< `overlap_at`; 0 if only one of them is an error
  double rbo = 1;      ///< `rank_biased_overlap`; the same
};

/// How much the ranks at the top count more than those below them: each rank has `p` times the weight of the rank
/// above.
inline constexpr double rbo_persistence = 0.9;

/// Ignores the names of plans and nodes, cursors, arms of experiments, explanations, captured rows and messages of
/// errors.
[[nodiscard]] auto compare_answers(const ranking& before, const ranking& after, std::size_t depth) -> answer_verdict;

/// Returns the ids of the candidates, the best first; empty for an error.
[[nodiscard]] auto candidate_ids(const ranking& answer) -> std::vector<row_id>;

/// Returns the share of common ids among the first `depth` ids of both lists, relative to the longer list. A repeated
/// id counts as another id. 1 if both are empty.
[[nodiscard]] auto overlap_at(std::span<const row_id> before, std::span<const row_id> after, std::size_t depth)
    -> double;

/// Rank-biased overlap: how much of both lists is the same down to each rank, on average, if a rank has `p` times the
/// weight of the rank above it; ranks below the longer list count like its end. The shorter list has ended: nothing is
/// assumed about its continuation. 1 for equal lists, 0 for lists without a common id. A repeated id counts as another
/// id. Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", 2010, equation 23.
[[nodiscard]] auto rank_biased_overlap(std::span<const row_id> before, std::span<const row_id> after,
                                       double p = rbo_persistence) -> double;

}  // namespace rankd
