// rankd/op/operators/sources/follow.cpp: implements the source that returns the ids that the users of its input rows
// follow.
#include <rankd/op/detail/countries.hpp>
#include <rankd/op/detail/id_list.hpp>

#include <array>
#include <string_view>

namespace rankd::detail::follow_op {
namespace {

constexpr std::array<std::string_view, 2> forms{"user:{id}", "follow:{id}"};

auto bind_follow(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return bind_id_list("follow:", list_columns::country, node, context);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::follow", .inputs = 1, .params = id_list_shape},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of list follow:ID, each with its country, for each row.",
          .bind = &bind_follow,
          .records = {.keys = forms},
          .extra_column = country_field};
}

}  // namespace rankd::detail::follow_op
