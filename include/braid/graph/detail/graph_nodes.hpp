// braid/graph/detail/graph_nodes.hpp: the concepts for the nodes of a graph run.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/stop_flag.hpp>

#include <concepts>

namespace braid::detail {

/// The nodes of one run. `mode` and `timeout` are called when a node becomes ready. `run` is called for nodes of the
/// modes `here` and `worker`, and `start` for nodes of the mode `task`.
template <typename N>
concept graph_nodes = requires(N& nodes, node_index node, const stop_flag& stop) {
  { nodes.mode(node) } noexcept -> std::same_as<node_mode>;
  { nodes.timeout(node) } noexcept -> std::same_as<duration>;  // duration::max() if there is no limit
  { nodes.run(node, stop) } -> std::same_as<node_status>;
  { nodes.start(node) } -> std::same_as<task<node_status>>;
};

/// Nodes with fallbacks. `replaces` is called on the home of the run when a node has failed or exceeded its time limit.
/// `replaces` returns true if the run should continue as if the node were done. A node that exceeded its time limit may
/// still be running.
template <typename N>
concept replaceable_nodes = requires(N& nodes, const graph_failure& failure) {
  { nodes.replaces(failure) } noexcept -> std::same_as<bool>;
};

/// Nodes that can declare that they cannot fail. A failed node is reported at once if `may_fail` returns false for all
/// unfinished nodes before it in the order. `may_fail` is called on the home of the run after a node has failed, and
/// must return the same value during the whole run. A node that throws, gives up or has a time limit may fail, unless
/// `replaces` handles its failure.
template <typename N>
concept certain_nodes = requires(N& nodes, node_index node) {
  { nodes.may_fail(node) } noexcept -> std::same_as<bool>;
};

/// Returns whether the node may fail. Returns true if the nodes do not define `may_fail`.
template <typename N>
auto may_fail(N& nodes, node_index node) noexcept -> bool {
  if constexpr (certain_nodes<N>)
    return nodes.may_fail(node);
  else
    return true;
}

}  // namespace braid::detail
