// rankd/op/operators/rows/filter.cpp: implements the operator that keeps the rows for which a predicate is true.
#include <rankd/expr/evaluate.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/formulas.hpp>

#include <array>

namespace rankd::detail::filter_op {
namespace {

struct filter_params {
  pred_program program;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return estimate_cost(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const evaluated<bitmap> kept =
        evaluate(program, rows, context.params, context.memory, {.rows_of_part = context.rows_of_part});
    if (!kept) return cannot_evaluate(kept.error());
    return rows.select(*kept, context.memory);
  }
};

constexpr std::array filter_shape{param_shape{.name = "pred_id", .kind = param_kind::pred_id}};

auto bind_filter(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return make_bound(filter_params{context.preds[node.find_param("pred_id")->index()]});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::filter", .inputs = 1, .params = filter_shape},
          .change = row_change::stable_filter,
          .doc = "Keeps the rows for which a predicate holds.",
          .bind = &bind_filter};
}

}  // namespace rankd::detail::filter_op
