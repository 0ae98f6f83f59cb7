// rankd/op/catalog.cpp: the list of the operators of rankd, kept by hand.
#include <rankd/op/catalog.hpp>

#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/own_operator.hpp>

#include <algorithm>
#include <array>

namespace rankd {

bound_op::~bound_op() = default;

auto all_ops() -> std::span<const op_entry> {
  static const std::array entries{
      detail::aggregate_entry(),      detail::call_models_entry(),  detail::call_remote_model_entry(),
      detail::candidates_entry(),     detail::choose_entry(),       detail::concat_entry(),
      detail::dedupe_entry(),         detail::diversify_entry(),    detail::extract_features_entry(),
      detail::fetch_features_entry(), detail::filter_entry(),       detail::flag_entry(),
      detail::follow_entry(),         detail::hash_entry(),         detail::join_entry(),
      detail::list_entry(),           detail::media_entry(),        detail::members_of_entry(),
      detail::nearest_entry(),        detail::paginate_entry(),     detail::rank_fusion_entry(),
      detail::recommendation_entry(), detail::sample_entry(),       detail::set_entry(),
      detail::sort_entry(),           detail::sorted_set_entry(),   detail::strings_entry(),
      detail::take_entry(),           detail::viewer_entry(),       detail::vm_entry(),
      detail::busy_cpu_entry(),       detail::fixed_source_entry(), detail::sleep_entry(),
  };
  return entries;
}

auto find_op(std::string_view name) -> const op_entry* {
  const auto entries = all_ops();
  const auto at = std::ranges::find(entries, name, [](const op_entry& entry) { return entry.shape.name; });
  if (at != entries.end()) return &*at;
  const detail::own_operator* const own = detail::find_own(name);
  return own == nullptr ? nullptr : &own->entry;
}

}  // namespace rankd
