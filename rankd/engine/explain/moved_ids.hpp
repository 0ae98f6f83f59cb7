// rankd/engine/explain/moved_ids.hpp: explains in one sentence why an id has another position in the answer of another
// plan.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/plan/diff.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// An id that has different positions in two answers.
struct moved_id {
  row_id id;
  std::optional<std::size_t> was;  ///< its first position in the first answer, from 1; nothing: it is absent
  std::optional<std::size_t> is;   ///< the same in the second answer
  /// The name of the first node at which the two plans treated the id differently, or empty. If the node is in both
  /// plans, this is its name in the second plan.
  std::string node;
  std::string why;  ///< one sentence without a full stop; empty before `move_explainer::explain`
};

/// Returns the ids that are in only one of two answers, followed by the ids whose order changed. To find the ids whose
/// order changed, the longest common subsequence of both answers is computed. Its ids count as unchanged, and all other
/// common ids count as moved. So a missing id does not make all ids below it count as moved. The ids with the best
/// positions come first. At most `max_explained_ids` ids are returned, and `all` is set to the number of ids without
/// this limit.
[[nodiscard]] auto moves_between(const ranking& before, const ranking& after, std::size_t& all)
    -> std::vector<moved_id>;

/// Finds out why ids moved. Lifetime: the plans and the registries must outlive this object. Threads: any.
class move_explainer {
 public:
  move_explainer(const bound_plan& before, const bound_plan& after, const registries& declared);

  /// Sets the member `why` of each id. Requires answers with explanations of all these ids.
  void explain(std::vector<moved_id>& moves, const ranking& before, const ranking& after) const;

 private:
  /// A node of either plan, or two matching nodes of both plans.
  struct stage {
    std::optional<node_index> before;
    std::optional<node_index> after;
  };
  struct event;
  struct fork;

  void order_stages(const std::vector<std::optional<node_index>>& matched);
  [[nodiscard]] auto find_fork(const id_fate& was, const id_fate& is) const -> std::optional<fork>;
  [[nodiscard]] auto sentence(const fork& difference, const ranking& before, const ranking& after) const -> std::string;
  [[nodiscard]] auto dropped(const fork& difference, const ranking& other, std::string_view kind) const -> std::string;
  [[nodiscard]] auto changes_at(const stage& step) const -> std::string;
  [[nodiscard]] auto formulas_at(const plan& plan, node_index node) const -> std::vector<std::string>;
  [[nodiscard]] auto other_values(const moved_id& id, const ranking& before, const ranking& after) const -> std::string;

  const plan* before_;
  const plan* after_;
  const registries* declared_;
  std::vector<stage> stages_;  // in an order in which they can run
  std::vector<plan_change> changes_;
};

/// States which members of a moved id are written.
enum class move_parts : std::uint8_t { places, all };

/// Appends moved ids as JSON: `{"id": 1, "was": 2, "is": null}`. With `move_parts::all`, each object also contains
/// `node` and `why`.
void append_moves(std::string& out, const std::vector<moved_id>& moves, move_parts parts);

}  // namespace rankd
