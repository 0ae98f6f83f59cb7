// rankd/op/fuse.hpp: two nodes that do less together than one after the other.
#pragma once

#include <rankd/op/operator.hpp>

#include <memory>
#include <optional>

namespace rankd {

/// What two nodes do in place of what they were bound to. Each has the same number of rows coming in and going out as
/// before, and the second gives the same rows in the same order.
struct fused_ops {
  std::unique_ptr<const bound_op> first;
  std::unique_ptr<const bound_op> second;
  row_change second_change = row_change::dense_source;
};

/// What `second`, which alone takes the rows of `first`, and `first` do together; nothing where that is the same as
/// one after the other. A sort with a take behind it sorts no further than the rows that are taken: the sort passes its
/// rows on, and the take does the work. Requires nodes whose operators were bound without diagnostic.
auto fuse(const plan_node& first, const plan_node& second, const bind_context& with) -> std::optional<fused_ops>;

}  // namespace rankd
