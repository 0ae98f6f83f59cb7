// rankd/engine/detail/route_fallbacks.hpp: finds the edges that fallbacks add to a request's graph of nodes.
#pragma once

#include <rankd/plan/plan.hpp>

#include <vector>

namespace rankd::detail {

/// A list of other nodes for each node of a plan. The lists are indexed by node number.
using node_lists = std::vector<std::vector<node_index>>;

struct route_fallbacks {
  node_lists after;   ///< the nodes that each node waits for without reading their rows
  node_lists wakers;  ///< for each node that is needed only as a fallback: the nodes whose failure starts it
};

/// Finds which nodes of a route run only as fallbacks, and which failures start them. `bypassed` nodes do not run, and
/// `sources` are the nodes whose rows each node reads. A node runs unconditionally if an output needs its rows, or if
/// starting it only after a failure would create a cycle. The edges in the result and the edges from `sources` together
/// form no cycle.
/// Cost: a graph traversal for each node whose fallback is another node.
[[nodiscard]] auto fallbacks_of_route(const plan& loaded, const std::vector<bool>& bypassed, const node_lists& sources)
    -> route_fallbacks;

}  // namespace rankd::detail
