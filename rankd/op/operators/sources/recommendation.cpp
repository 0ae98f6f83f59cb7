// rankd/op/operators/sources/recommendation.cpp: implements the source that returns the ids that are recommended to the
// users of its input rows.
#include <rankd/op/detail/countries.hpp>
#include <rankd/op/detail/id_list.hpp>

#include <array>
#include <string_view>

namespace rankd::detail::recommendation_op {
namespace {

constexpr std::array<std::string_view, 2> forms{"user:{id}", "recommendation:{id}"};

auto bind_recommendation(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return bind_id_list("recommendation:", list_columns::country, node, context);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::recommendation", .inputs = 1, .params = id_list_shape},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of list recommendation:ID, each with its country, for each row.",
          .bind = &bind_recommendation,
          .records = {.keys = forms},
          .extra_column = country_field};
}

}  // namespace rankd::detail::recommendation_op
