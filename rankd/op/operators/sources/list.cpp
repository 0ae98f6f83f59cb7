// rankd/op/operators/sources/list.cpp: implements the source that returns the ids in lists. The plan defines the keys
// of the lists.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/stored_ids.hpp>

#include <array>

namespace rankd::detail::list_op {
namespace {

constexpr std::array list_shape{store_endpoint, key_shape, count_shape, offset_shape};

auto bind_list(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return bind_stored_ids(read_kind::list, node, context);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::list", .inputs = 1, .params = list_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of the list under `key`, for each row or once.",
          .bind = &bind_list};
}

}  // namespace rankd::detail::list_op
