// rankd/op/operators/rows/at_least.cpp: implements the operator that fails if there are too few rows, so that a
// fallback can provide other rows.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/registry/counted.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace rankd::detail::at_least_op {
namespace {

struct at_least_params {
  option_value<std::int64_t> count;

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double { return 10; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::int64_t least = count.in(context.params);
    if (static_cast<std::int64_t>(rows.size()) >= least) return rows;
    return std::unexpected(op_error{"too_few_rows", "the input has " + counted(rows.size(), "row") +
                                                        "; `count` requires at least " + std::to_string(least)});
  }
};

constexpr std::array at_least_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1}, .bindable = true}};

auto bind_at_least(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return make_bound(at_least_params{{*node.find_param("count"), context.declared}});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::at_least", .inputs = 1, .params = at_least_shape},
          .change = row_change::preserves_view,
          .doc =
              "Returns all rows if there are at least `count`; otherwise the node fails, and its fallback provides the "
              "rows.",
          .bind = &bind_at_least};
}

}  // namespace rankd::detail::at_least_op
