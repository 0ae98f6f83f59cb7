// rankd/plan/detail/node_limits.hpp: reads the time limits, retries and hedges of nodes.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads the fields `timeout_ms`, `retries` and `hedge_ms` of a node. `shape` is null if the operator of the node is
/// unknown.
void read_limits(object_reader& node, const op_shape* shape, draft& draft, plan_node& out);

}  // namespace rankd::detail
