// rankd/engine/explain/answer_comparison.hpp: compares two answers to the same request by overlap and rank-biased
// overlap.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/registry/row_id.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rankd {

/// The most important difference between two answers.
enum class answer_change : std::uint8_t {
  equal,       ///< the same candidates in the same order, with the same values; or the same error code
  values,      ///< the same candidates in the same order, but other values, or a next page in only one of the answers
  order,       ///< the same candidates in another order
  candidates,  ///< other candidates
  error,       ///< only one answer is an error, or both are errors with different codes
};
inline constexpr std::size_t answer_changes = 5;

/// Returns the name of a change: equal, values, order, candidates or error.
[[nodiscard]] auto to_string(answer_change change) noexcept -> std::string_view;

/// The similarity of two answers to the same request.
struct answer_verdict {
  answer_change change = answer_change::equal;
  double overlap = 1;  ///< see `overlap_at`; 0 if only one of the answers is an error
  double rbo = 1;      ///< see `rank_biased_overlap`; 0 if only one of the answers is an error
};

/// The persistence of the rank-biased overlap: each rank has `p` times the weight of the rank above it.
inline constexpr double rbo_persistence = 0.9;

/// Compares two answers. Ignores the names of plans and nodes, cursors, arms of experiments, explanations, captured
/// rows and error messages.
[[nodiscard]] auto compare_answers(const ranking& before, const ranking& after, std::size_t depth) -> answer_verdict;

/// Returns the ids of the candidates, best first. Returns an empty list for an error.
[[nodiscard]] auto candidate_ids(const ranking& answer) -> std::vector<row_id>;

/// Compares the first `depth` ids of each list. Returns the number of ids that both lists have in common, divided by
/// the number of compared ids. If the lists differ in length, the longer list determines this number. Repeated ids
/// count separately. Returns 1 if both lists are empty.
[[nodiscard]] auto overlap_at(std::span<const row_id> before, std::span<const row_id> after, std::size_t depth)
    -> double;

/// Returns the rank-biased overlap of two lists. It is the weighted average of the agreement of the lists over all
/// ranks. The agreement at a rank compares both lists from the top down to this rank. Each rank has `p` times the
/// weight of the rank above it. For ranks beyond the end of the longer list, the agreement at that end is used. The
/// shorter list is taken as complete: it has no further ids. The result is 1 for equal lists and 0 for lists without a
/// common id. Repeated ids count separately. Source: Webber, Moffat and Zobel, "A similarity measure for indefinite
/// rankings", 2010, equation 23.
[[nodiscard]] auto rank_biased_overlap(std::span<const row_id> before, std::span<const row_id> after,
                                       double p = rbo_persistence) -> double;

}  // namespace rankd
