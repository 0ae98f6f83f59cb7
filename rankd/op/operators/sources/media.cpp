// rankd/op/operators/sources/media.cpp: implements the source that returns the ids of the media that belong to its
// input rows.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/id_list.hpp>

#include <array>
#include <string_view>

namespace rankd::detail::media_op {
namespace {

constexpr std::array media_shape{
    store_endpoint,
    param_shape{.name = "fanout", .kind = param_kind::int64, .range = {.min = 1, .max = 10'000}, .bindable = true},
};

constexpr std::array<std::string_view, 1> forms{"media:{id}"};

auto bind_media(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return bind_id_list("media:", list_columns::none, node, context);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::media", .inputs = 1, .params = media_shape},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of list media:ID, for each row.",
          .bind = &bind_media,
          .records = {.keys = forms}};
}

}  // namespace rankd::detail::media_op
