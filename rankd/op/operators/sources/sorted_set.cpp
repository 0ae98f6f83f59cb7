// rankd/op/operators/sources/sorted_set.cpp: implements the source that returns the ids in sorted sets, with their
// scores. The plan defines the keys of the sets.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_ids.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail::sorted_set_op {
namespace {

constexpr std::array<std::string_view, 2> orders{"asc", "desc"};

constexpr param_shape score_shape{.name = "out_key",
                                  .kind = param_kind::key_id,
                                  .need = presence::nullable,
                                  .use = key_use::write,
                                  .choices = float_types};

constexpr std::array sorted_set_shape{
    store_endpoint,
    key_shape,
    count_shape,
    offset_shape,
    param_shape{.name = "order", .kind = param_kind::enumeration, .need = presence::nullable, .choices = orders},
    param_shape{.name = "min", .kind = param_kind::float64, .need = presence::nullable, .bindable = true},
    param_shape{.name = "max", .kind = param_kind::float64, .need = presence::nullable, .bindable = true},
    score_shape,
};

/// Returns the range of scores that the node's options define, or nothing if the options define no range.
auto read_range(const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> std::optional<score_ends> {
  const plan_param* min = node.find_param("min");
  const plan_param* max = node.find_param("max");
  if (min == nullptr && max == nullptr) return std::nullopt;
  score_ends range;
  if (min != nullptr) range.min = option_value<double>(*min, context.declared);
  if (max != nullptr) range.max = option_value<double>(*max, context.declared);
  check_ends(min, max, problems);
  return range;
}

auto bind_sorted_set(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  stored_ids params = find_stored_ids(read_kind::sorted_set, node, context, problems);
  const plan_param* order = node.find_param("order");
  if (order != nullptr && std::get<std::string>(order->value) == "desc") params.what.order = score_order::descending;
  if (const plan_param* out = node.find_param("out_key"))
    if (const key_entry* key = find_typed_key(*out, score_shape, context, problems)) {
      params.scores = score_column{.key_id = key->key_id, .otherwise = std::nullopt};
      if (!key->nullable) params.scores->otherwise = std::get<double>(key->default_value);
    }
  params.range = read_range(node, context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::sorted_set", .inputs = 1, .params = sorted_set_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of the sorted set under `key`, with their scores, for each row or once.",
          .bind = &bind_sorted_set};
}

}  // namespace rankd::detail::sorted_set_op
