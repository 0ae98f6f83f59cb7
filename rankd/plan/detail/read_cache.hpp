// rankd/plan/detail/read_cache.hpp: reads the option `cache` of a node in an artifact.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads the field `cache` of a node. The binder of plans checks later whether the node may have a cache.
void read_cache(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out);

}  // namespace rankd::detail
