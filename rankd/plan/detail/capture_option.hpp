// rankd/plan/detail/capture_option.hpp: which rows at a node are captured, as the artifact says it.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads `capture` of a node. Keys are not looked up.
void read_capture(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out);

}  // namespace rankd::detail
