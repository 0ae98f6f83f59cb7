// rankd/plan/detail/read_cache.hpp: how long the rows of a node are kept, as the artifact says it.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads `cache` of a node. Whether the node can have one is for the binder of plans.
void read_cache(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out);

}  // namespace rankd::detail
