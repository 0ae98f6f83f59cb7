// rankd/op/fuse.hpp: two nodes that do less together than one after the other.
#pragma once

#include <rankd/op/operator.hpp>

#include <memory>
#include <optional>

namespace rankd {

/// The operators that two nodes run in place of their own. The numbers of rows that enter and leave each node stay the
/// same, and the second returns the same rows in the same order.
struct fused_ops {
  std::unique_ptr<const bound_op> first;
  std::unique_ptr<const bound_op> second;
  row_change second_change = row_change::dense_source;
};

/// Returns the fused operators of `first` and `second`, which is the only node that reads the rows of `first`; nothing
/// if fusing does not help. A sort with a take after it sorts only the rows that are taken: the sort passes its rows
/// on, and the take does the work. Requires nodes whose operators were bound without diagnostic.
auto fuse(const plan_node& first, const plan_node& second, const bind_context& context) -> std::optional<fused_ops>;

}  // namespace rankd
