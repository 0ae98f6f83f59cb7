// rankd/op/catalog.cpp: the list of all operators, kept by hand.
#include <rankd/op/catalog.hpp>

#include <rankd/op/detail/entries.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace rankd {

bound_op::~bound_op() = default;

auto all_ops() -> std::span<const op_entry> {
  static const std::array entries{
      detail::aggregate_entry(),      detail::call_models_entry(),
      detail::candidates_entry(),     detail::choose_entry(),
      detail::concat_entry(),         detail::dedupe_entry(),
      detail::diversify_entry(),      detail::extract_features_entry(),
      detail::fetch_features_entry(), detail::filter_entry(),
      detail::flag_entry(),           detail::follow_entry(),
      detail::hash_entry(),           detail::join_entry(),
      detail::list_entry(),           detail::media_entry(),
      detail::members_of_entry(),     detail::paginate_entry(),
      detail::rank_fusion_entry(),    detail::recommendation_entry(),
      detail::sample_entry(),         detail::set_entry(),
      detail::sort_entry(),           detail::sorted_set_entry(),
      detail::strings_entry(),        detail::take_entry(),
      detail::viewer_entry(),         detail::vm_entry(),
      detail::busy_cpu_entry(),       detail::fixed_source_entry(),
      detail::sleep_entry(),
  };
  return entries;
}

auto all_op_shapes() -> const op_shapes& {
  static const std::vector<op_shape> shapes = [] {
    std::vector<op_shape> out;
    for (const op_entry& entry : all_ops()) out.push_back(entry.shape);
    return out;
  }();
  static const op_shapes all{shapes};
  return all;
}

auto find_op(std::string_view name) -> const op_entry* {
  const auto entries = all_ops();
  const auto at = std::ranges::find(entries, name, [](const op_entry& entry) { return entry.shape.name; });
  return at == entries.end() ? nullptr : &*at;
}

}  // namespace rankd
