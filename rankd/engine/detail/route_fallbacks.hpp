// rankd/engine/detail/route_fallbacks.hpp: the edges that fallbacks add to the graph of the nodes that run for a
// request.
#pragma once

#include <rankd/plan/plan.hpp>

#include <vector>

namespace rankd::detail {

/// Indexed by the number of a node.
using node_lists = std::vector<std::vector<node_index>>;

struct route_fallbacks {
  node_lists after;   ///< the node waits for these, and takes no rows from them
  node_lists wakers;  ///< for a node that is needed only as a fallback: it runs if one of these has failed
};

/// Returns the fallbacks of the nodes that are not `bypassed` and take the rows of `sources`. A node whose rows an
/// output needs runs anyway, and so does a node that would wait for itself. The result forms no cycle with the sources.
/// Cost: a walk for each fallback that names a node.
[[nodiscard]] auto fallbacks_of_route(const plan& loaded, const std::vector<bool>& bypassed, const node_lists& sources)
    -> route_fallbacks;

}  // namespace rankd::detail
