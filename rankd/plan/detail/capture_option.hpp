// rankd/plan/detail/capture_option.hpp: reads the option `capture` of a node in an artifact.
#pragma once

#include <rankd/plan/detail/artifact.hpp>

namespace rankd::detail {

/// Reads the field `capture` of a node. Does not check that the keys exist.
void read_capture(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out);

}  // namespace rankd::detail
