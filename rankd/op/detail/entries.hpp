// rankd/op/detail/entries.hpp: one function for each operator, which gives its entry in the list.
#pragma once

#include <rankd/op/operator.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace rankd::detail {

/// Rows that one source may be asked for, or make.
inline constexpr std::int64_t max_rows_of_a_source = 10'000'000;

// What reads the store.
auto viewer_entry() -> op_entry;
auto follow_entry() -> op_entry;
auto recommendation_entry() -> op_entry;
auto media_entry() -> op_entry;
auto fetch_features_entry() -> op_entry;

// What reads values under keys of one's own.
auto list_entry() -> op_entry;
auto set_entry() -> op_entry;
auto sorted_set_entry() -> op_entry;
auto hash_entry() -> op_entry;
auto strings_entry() -> op_entry;
auto members_of_entry() -> op_entry;

// What looks through a file of vectors.
inline constexpr std::string_view nearest_name = "core::nearest";
auto nearest_entry() -> op_entry;

// What takes the rows of the request.
inline constexpr std::string_view candidates_name = "core::candidates";
auto candidates_entry() -> op_entry;

// What computes on rows.
auto vm_entry() -> op_entry;
auto flag_entry() -> op_entry;
auto filter_entry() -> op_entry;
auto concat_entry() -> op_entry;
auto sort_entry() -> op_entry;
auto take_entry() -> op_entry;
auto extract_features_entry() -> op_entry;
auto call_models_entry() -> op_entry;
auto call_remote_model_entry() -> op_entry;

// What compares rows with each other.
auto dedupe_entry() -> op_entry;
auto join_entry() -> op_entry;

// What looks at a list as a whole.
auto aggregate_entry() -> op_entry;
auto diversify_entry() -> op_entry;
auto paginate_entry() -> op_entry;
auto rank_fusion_entry() -> op_entry;
auto sample_entry() -> op_entry;

// What passes on one of several inputs.
inline constexpr std::string_view choose_name = "core::choose";
auto choose_entry() -> op_entry;

// What a sort and a take behind it become together: see fuse.hpp.
auto bind_first_of_sort(const plan_node& sort, const plan_node& take, const bind_context& with)
    -> braid::checked<std::unique_ptr<const bound_op>>;
auto make_pass_on() -> std::unique_ptr<const bound_op>;

// What tests are made of.
auto fixed_source_entry() -> op_entry;
auto sleep_entry() -> op_entry;
auto busy_cpu_entry() -> op_entry;

}  // namespace rankd::detail
