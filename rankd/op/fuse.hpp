// rankd/op/fuse.hpp: combines the work of two adjacent nodes if that costs less than running the nodes one after the
// other.
#pragma once

#include <rankd/op/operator.hpp>

#include <memory>
#include <optional>

namespace rankd {

/// The operators that two fused nodes run in place of their own operators. Fusing does not change the number of input
/// and output rows of each node, and the second node returns the same rows in the same order as before.
struct fused_ops {
  std::unique_ptr<const bound_op> first;
  std::unique_ptr<const bound_op> second;
  row_change second_change = row_change::dense_source;
};

/// Returns fused operators for `first` and `second`, or nothing if fusing does not help. For example, if a sort
/// precedes a take, the fused sort passes on its rows unsorted, and the fused take sorts only the rows that it returns.
/// Requires that `second` is the only reader of the rows of `first`, and that both were bound without diagnostics.
auto fuse(const plan_node& first, const plan_node& second, const bind_context& context) -> std::optional<fused_ops>;

}  // namespace rankd
