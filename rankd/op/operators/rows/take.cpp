// rankd/op/operators/rows/take.cpp: implements the operator that keeps the first rows.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/option_value.hpp>

#include <array>
#include <cstdint>

namespace rankd::detail::take_op {
namespace {

struct take_params {
  option_value<std::int64_t> count;

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double { return 10; }
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return context.inputs[0].take(static_cast<std::size_t>(count.in(context.params)));
  }
};

constexpr std::array take_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1}, .bindable = true}};

auto bind_take(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return make_bound(take_params{{*node.find_param("count"), context.declared}});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::take", .inputs = 1, .params = take_shape},
          .change = row_change::prefix,
          .doc = "Returns the first rows in the current order.",
          .bind = &bind_take};
}

}  // namespace rankd::detail::take_op
