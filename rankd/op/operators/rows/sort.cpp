// rankd/op/operators/rows/sort.cpp: implements the operator that orders rows by a key.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/rows/sort.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace rankd::detail::sort_op {
namespace {

struct sort_params {
  std::uint32_t key_id = 0;
  sort_direction direction = sort_direction::ascending;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return 4.0 * static_cast<double>(rows) * static_cast<double>(std::bit_width(rows));
  }

  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return sort(context.inputs[0], key_id, direction, context.memory);
  }
};

/// A sort that is fused with the take after it. Only the first rows need to be sorted.
struct first_of_sort_params {
  sort_params by;
  option_value<std::int64_t> count;

  [[nodiscard]] auto cost_ns(std::size_t rows, std::span<const scalar> params) const noexcept -> double {
    const std::size_t taken = std::min(rows, static_cast<std::size_t>(count.in(params)));
    return std::min(by.cost_ns(rows), 2.0 * static_cast<double>(rows) + 4 * by.cost_ns(taken));
  }

  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return sort_first(context.inputs[0], by.key_id, by.direction, static_cast<std::size_t>(count.in(context.params)),
                      context.memory);
  }
};

constexpr std::array<std::string_view, 2> directions{"asc", "desc"};

constexpr std::array sort_shape{
    param_shape{.name = "by", .kind = param_kind::key_id, .choices = scalar_types},
    param_shape{.name = "order", .kind = param_kind::enumeration, .need = presence::nullable, .choices = directions},
};

auto find_sort_params(const plan_node& node, const bind_context& context) -> braid::checked<sort_params> {
  braid::diagnostics problems;
  const plan_param& by = *node.find_param("by");
  const key_entry* key = find_key(by, key_use::read, context, problems);
  if (key != nullptr && key->type == value_type::vector)
    problems.add(wrong_key_type(*key, by, "such values have no order"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const plan_param* order = node.find_param("order");
  const bool descending = order != nullptr && std::get<std::string>(order->value) == "desc";
  return sort_params{.key_id = key->key_id,
                     .direction = descending ? sort_direction::descending : sort_direction::ascending};
}

auto bind_sort(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  auto by = find_sort_params(node, context);
  if (!by) return std::unexpected(std::move(by.error()));
  return make_bound(*by);
}

auto bind_with_take(const plan_node& sort, const plan_node& take, const bind_context& context)
    -> braid::checked<bound_ptr> {
  auto by = find_sort_params(sort, context);
  if (!by) return std::unexpected(std::move(by.error()));
  return make_bound(first_of_sort_params{.by = *by, .count = {*take.find_param("count"), context.declared}});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::sort", .inputs = 1, .params = sort_shape},
          .change = row_change::permutation,
          .doc = "Sorts the rows by a key; the sort is stable, and nulls are last.",
          .bind = &bind_sort,
          .bind_with_take = &bind_with_take};
}

}  // namespace rankd::detail::sort_op
