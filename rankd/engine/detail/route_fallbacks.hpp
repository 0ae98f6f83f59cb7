// rankd/engine/detail/route_fallbacks.hpp: the edges that fallbacks add to the graph of the nodes that run for a
// request.
#pragma once

#include <rankd/plan/plan.hpp>

#include <vector>

namespace rankd::detail {

/// By number of a node.
using node_lists = std::vector<std::vector<node_index>>;

struct route_fallbacks {
  node_lists after;   ///< the node waits for these, and takes no rows of them
  node_lists wakers;  ///< of a node that only substitutes need: it runs if one of these has failed
};

/// Of the nodes that are not `bypassed` and take the rows of `sources`. A node of which an output needs the rows runs
/// anyway, and so does one that would wait for itself. The result forms no cycle with the sources.
/// Cost: a walk for each fallback that names a node.
[[nodiscard]] auto fallbacks_of_route(const plan& loaded, const std::vector<bool>& bypassed, const node_lists& sources)
    -> route_fallbacks;

}  // namespace rankd::detail
