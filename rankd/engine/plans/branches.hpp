// rankd/engine/plans/branches.hpp: decides which nodes of a plan run for a request, if params of requests choose.
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

/// The nodes that run for some requests of a plan, and their graph. Nodes that do not run are in it without edges, so
/// that every node has the same number in every route.
struct plan_route {
  static constexpr node_index none = ~node_index{0};

  plan_needs needs;            ///< parts that these requests must have
  std::vector<bool> bypassed;  ///< by number: it does not run; empty if all run
  /// by number: its rows come from a cache, so it takes none; empty if there are no such nodes
  std::vector<bool> cached;
  /// by number: the input whose rows a choice passes on, `none` for other nodes; or empty
  std::vector<node_index> taken;
  /// By number: a node that is needed only as a fallback runs if one of these has failed; empty if there are no
  /// fallbacks.
  std::vector<std::vector<node_index>> wakers;
  braid::graph_shape shape;
  braid::graph_shape line;  ///< the same nodes one after the other, in the order of `shape.order()`

  [[nodiscard]] auto bypasses(node_index node) const noexcept -> bool { return !bypassed.empty() && bypassed[node]; }
  [[nodiscard]] auto takes_cached(node_index node) const noexcept -> bool { return !cached.empty() && cached[node]; }
};

/// The ends of routes, if they are not the sources and outputs of a plan.
struct route_ends {
  std::vector<node_index> outputs = {};  ///< empty: the outputs of the plan
  /// by number: it takes no rows, because a cache has its own; empty: there are no such nodes
  std::vector<bool> cached = {};
};

/// Returns the route of a plan without choices. Requires a plan whose nodes were bound without diagnostic.
[[nodiscard]] auto whole_route(const plan& loaded, const registries& declared) -> plan_route;

/// The conditions of a plan and the routes to which they lead.
/// Threads: any. Cost: `find_route` costs a microsecond, and some hundred nanoseconds for each condition; more if a
/// route is used for the first time, and each time when `max_kept` others are known. Memory: some ten bytes a node for
/// each route.
class plan_branches {
 public:
  static constexpr std::size_t max_conditions = 64;
  static constexpr std::size_t max_kept = 256;

  /// Requires a plan that `check_conditions` reports nothing about; `preds` are the programs of its pred_table.
  /// Lifetime: the registries outlive it.
  plan_branches(std::shared_ptr<const plan> loaded, std::span<const pred_program> preds, const registries& declared,
                route_ends ends = {});

  /// Returns the route of a request with these values of params, one for each of registries::params.
  [[nodiscard]] auto find_route(std::span<const scalar> params) const -> std::shared_ptr<const plan_route>;

  /// Returns how many routes are known.
  [[nodiscard]] auto kept() const -> std::size_t;

 private:
  [[nodiscard]] auto outcomes(std::span<const scalar> params) const -> std::uint64_t;
  [[nodiscard]] auto input_taken(node_index node, std::uint64_t outcomes) const -> node_index;
  [[nodiscard]] auto made_route(std::uint64_t outcomes) const -> plan_route;

  std::shared_ptr<const plan> loaded_;
  route_ends ends_;
  const registries* declared_;
  std::vector<pred_program> conditions_;
  std::vector<std::vector<std::uint32_t>> of_node_;  // per node: its conditions, in order; empty if it does not choose
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<const plan_route>>
      kept_;  // under the mutex; a bit for each condition
};

/// Returns whether a node of the plan chooses among its inputs.
[[nodiscard]] auto has_branches(const plan& loaded) noexcept -> bool;

/// Checks the conditions of a node, if it has some. Errors: row_value_in_condition if one reads a column.
void check_conditions(const plan& loaded, const plan_node& node, braid::diagnostics& problems);

/// Errors: too_many_conditions if all nodes together have more than `plan_branches::max_conditions`, each counted once.
void check_condition_count(const plan& loaded, braid::diagnostics& problems);

}  // namespace rankd
