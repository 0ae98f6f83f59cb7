// rankd/op/operators/sources/set.cpp: implements the source that returns the ids in sets. The plan defines the keys of
// the sets.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/stored_ids.hpp>

#include <array>

namespace rankd::detail::set_op {
namespace {

constexpr std::array set_shape{store_endpoint, key_shape, count_shape};

auto bind_set(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return bind_stored_ids(read_kind::set, node, context);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::set", .inputs = 1, .params = set_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "Returns the smallest ids of the set under `key`, for each row or once.",
          .bind = &bind_set};
}

}  // namespace rankd::detail::set_op
