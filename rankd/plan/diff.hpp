// rankd/plan/diff.hpp: the structural difference of two plans: which nodes correspond, and what differs between them.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

enum class change_kind : std::uint8_t {
  added,    ///< a node that is only in the second plan
  removed,  ///< a node that is only in the first plan
  renamed,  ///< the same node with another id
  moved,    ///< a node with other inputs
  changed,  ///< a node with a different param, or a plan with a different output, capability or extension
};

/// Returns the name of a kind of change, such as "added".
[[nodiscard]] auto to_string(change_kind kind) noexcept -> std::string_view;

/// One difference. Its values are texts, as `list_fields` returns them.
struct plan_change {
  change_kind kind = change_kind::changed;
  /// The node's id in the second plan, or in the first plan if the node was removed. If the id is empty, the difference
  /// concerns the plan itself.
  std::string node;
  std::string was;  ///< the id in the first plan, if it differs
  /// The part of the node or plan that differs: the name of a param, `inputs`, `trace`, `outputs`, `fragment ID` or a
  /// capability. Empty if the node was added, removed or renamed.
  std::string field;
  std::optional<std::string> before;  ///< empty if the first plan does not have the field
  std::optional<std::string> after;

  [[nodiscard]] auto operator==(const plan_change&) const -> bool = default;
};

/// A plan, and the registries that its numeric ids refer to.
struct plan_side {
  const plan& of;
  const registries& declared;
};

/// Returns, for each node of `before`, the corresponding node of `after`, if there is one. First, nodes with the same
/// id and operator are matched. Then nodes with the same content are matched. The content consists of the operator, the
/// params with their formulas, and the content of all sources. Then nodes with the same operator are matched, in
/// descending order of the number of matched neighbours that they have in common. In this step, nodes with equal params
/// are preferred, and an output in the same position counts as a neighbour. Cost: the number of nodes and edges, times
/// the size of their formulas. For nodes without common content, also the square of the number of users of one node.
[[nodiscard]] auto match_nodes(plan_side before, plan_side after) -> std::vector<std::optional<node_index>>;

/// Returns the differences of two plans: removed nodes, then the nodes of `after` in order, then differences that
/// concern the plans as a whole. Ignores the names of plans, source locations, digests and the order of nodes. If the
/// result is empty, both plans compute the same rows.
[[nodiscard]] auto differences(plan_side before, plan_side after) -> std::vector<plan_change>;

}  // namespace rankd
