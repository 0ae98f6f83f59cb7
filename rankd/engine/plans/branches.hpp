// rankd/engine/plans/branches.hpp: determines which nodes of a plan run for a request. Conditions on params can choose
// among the inputs of a node.
#pragma once

#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/expr/compile.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>
#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rankd {

/// A route through a plan. All requests for which the conditions choose the same inputs share a route. The route
/// contains the nodes that run for these requests, and the graph of these nodes. The graph also contains the other
/// nodes, without edges, so a node has the same number in every route.
struct plan_route {
  static constexpr node_index none = ~node_index{0};

  plan_needs needs;            ///< what these requests must contain
  std::vector<bool> bypassed;  ///< for each node, whether it does not run; empty if all nodes run
  /// States for each node whether its rows come from a cache. Such a node reads no input rows. Empty if no node uses a
  /// cache.
  std::vector<bool> cached;
  /// For each node, the input that it has chosen, or `none` if it does not choose. Empty if no node of the plan
  /// chooses.
  std::vector<node_index> taken;
  /// For each node, the other nodes whose failure starts it. The list is empty for a node that runs even if no node
  /// fails. The whole vector is empty if there are no fallbacks.
  std::vector<std::vector<node_index>> wakers;
  braid::graph_shape shape;
  braid::graph_shape line;  ///< the same nodes one after the other, in the order of `shape.order()`

  [[nodiscard]] auto bypasses(node_index node) const noexcept -> bool { return !bypassed.empty() && bypassed[node]; }
  [[nodiscard]] auto takes_cached(node_index node) const noexcept -> bool { return !cached.empty() && cached[node]; }
};

/// The ends of a route that covers only a part of a plan: its outputs, and the cached nodes at which it begins.
struct route_ends {
  std::vector<node_index> outputs = {};  ///< empty: the outputs of the plan
  /// States for each node whether its rows come from a cache. Such a node reads no input rows. Empty if no node uses a
  /// cache.
  std::vector<bool> cached = {};
};

/// Returns the route of a plan without choices. Requires a plan whose nodes were bound without diagnostics.
[[nodiscard]] auto whole_route(const plan& loaded, const registries& declared) -> plan_route;

/// The conditions of a plan, and the routes for their outcomes.
/// Threads: any. Cost: `find_route` takes a microsecond, plus some hundred nanoseconds for each condition. It takes
/// longer if the route is not stored, either because it is used for the first time or because `max_kept` other routes
/// are stored. Memory: some ten bytes per node for each route.
class plan_branches {
 public:
  static constexpr std::size_t max_conditions = 64;
  static constexpr std::size_t max_kept = 256;

  /// Requires that `check_conditions` reports no error for the plan. `preds` are the programs of the plan's pred_table.
  /// Lifetime: the registries must outlive the object.
  plan_branches(std::shared_ptr<const plan> loaded, std::span<const pred_program> preds, const registries& declared,
                route_ends ends = {});

  /// Returns the route of a request. `params` has one value for each of registries::params.
  [[nodiscard]] auto find_route(std::span<const scalar> params) const -> std::shared_ptr<const plan_route>;

  /// Returns the number of stored routes.
  [[nodiscard]] auto kept() const -> std::size_t;

 private:
  [[nodiscard]] auto outcomes(std::span<const scalar> params) const -> std::uint64_t;
  [[nodiscard]] auto input_taken(node_index node, std::uint64_t outcomes) const -> node_index;
  [[nodiscard]] auto made_route(std::uint64_t outcomes) const -> plan_route;

  std::shared_ptr<const plan> loaded_;
  route_ends ends_;
  const registries* declared_;
  std::vector<pred_program> conditions_;
  // The conditions of each node, in order. The list of a node that does not choose is empty.
  std::vector<std::vector<std::uint32_t>> of_node_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<const plan_route>>
      kept_;  // guarded by the mutex; the key has a bit for each condition
};

/// Returns whether any node of the plan chooses among its inputs.
[[nodiscard]] auto has_branches(const plan& loaded) noexcept -> bool;

/// Checks the conditions of a node, if it has any. Errors: row_value_in_condition if a condition reads a column.
void check_conditions(const plan& loaded, const plan_node& node, braid::diagnostics& problems);

/// Checks the number of distinct conditions in a plan. Errors: too_many_conditions if there are more than
/// `plan_branches::max_conditions`.
void check_condition_count(const plan& loaded, braid::diagnostics& problems);

}  // namespace rankd
