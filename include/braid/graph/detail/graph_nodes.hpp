// braid/graph/detail/graph_nodes.hpp: what a graph run requires of its nodes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/stop_flag.hpp>

#include <concepts>

namespace braid::detail {

/// The actions of the nodes of one run. `mode` and `timeout` are called when the node becomes ready; `run` is called
/// for `here` and `worker`, `start` for `task`.
template <typename N>
concept graph_nodes = requires(N& nodes, node_index node, const stop_flag& stop) {
  { nodes.mode(node) } noexcept -> std::same_as<node_mode>;
  { nodes.timeout(node) } noexcept -> std::same_as<duration>;  // duration::max() if there is no limit
  { nodes.run(node, stop) } -> std::same_as<node_status>;
  { nodes.start(node) } -> std::same_as<task<node_status>>;
};

/// Nodes with fallbacks. When a node has failed, or its time is over, `replaces` is called at the home of the run: it
/// returns whether the run continues as if the node were done. A node whose time is over may still be running.
template <typename N>
concept replaceable_nodes = requires(N& nodes, const graph_failure& failure) {
  { nodes.replaces(failure) } noexcept -> std::same_as<bool>;
};

/// Nodes some of which cannot fail. A failed node is reported without waiting for those before it in the order if
/// `may_fail` returns false for each of them that is not done. It is called at the home of the run after a node has
/// failed, and must return the same value during the whole run. A node that throws, gives up or has a time limit may
/// fail, unless `replaces` covers that.
template <typename N>
concept certain_nodes = requires(N& nodes, node_index node) {
  { nodes.may_fail(node) } noexcept -> std::same_as<bool>;
};

/// Returns whether the node may fail; true if its nodes do not say.
template <typename N>
auto may_fail(N& nodes, node_index node) noexcept -> bool {
  if constexpr (certain_nodes<N>)
    return nodes.may_fail(node);
  else
    return true;
}

}  // namespace braid::detail
