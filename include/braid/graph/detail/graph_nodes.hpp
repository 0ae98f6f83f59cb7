// braid/graph/detail/graph_nodes.hpp: what a graph run requires of its nodes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/stop_flag.hpp>

#include <concepts>

namespace braid::detail {

/// What the nodes of one run do. `mode` and `timeout` are asked when the node becomes ready; `run` is called for
/// `here` and `worker`, `start` for `task`.
template <typename N>
concept graph_nodes = requires(N& nodes, node_index node, const stop_flag& stop) {
  { nodes.mode(node) } noexcept -> std::same_as<node_mode>;
  { nodes.timeout(node) } noexcept -> std::same_as<duration>;  // duration::max() for none
  { nodes.run(node, stop) } -> std::same_as<node_status>;
  { nodes.start(node) } -> std::same_as<task<node_status>>;
};

/// Nodes for which others may stand in. When a node has failed, or its time is over, `replaces` is asked at the home of
/// the run whether the run goes on as if it were done. A node whose time is over may run on meanwhile.
template <typename N>
concept replaceable_nodes = requires(N& nodes, const graph_failure& why) {
  { nodes.replaces(why) } noexcept -> std::same_as<bool>;
};

}  // namespace braid::detail
