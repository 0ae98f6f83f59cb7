// rankd/plan/detail/node_limits.hpp: how long a node may take, and how often it is run again.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads `timeout_ms` and `retries` of a node. `shape` is null where its operator is unknown.
void read_limits(object_reader& node, const op_shape* shape, draft& into, plan_node& out);

}  // namespace rankd::detail
