// rankd/op/operators/columns/flag.cpp: implements the operator that adds a boolean column with the result of a
// predicate.
#include <rankd/expr/evaluate.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/formulas.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <array>
#include <span>

namespace rankd::detail::flag_op {
namespace {

struct flag_params {
  std::uint32_t key_id = 0;
  pred_program program;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return estimate_cost(program, rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::size_t size = rows.table().size();
    if (!context.may_make(0, size * sizeof(bool))) return over_budget();
    const evaluated<bitmap> holds =
        evaluate(program, rows, context.params, context.memory, {.rows_of_part = context.rows_of_part});
    if (!holds) return cannot_evaluate(holds.error());
    const std::span<bool> values = context.memory.filled(size, false);
    for (std::size_t at = 0; at < rows.size(); ++at) values[rows.row(at)] = (*holds)[at];
    return rows.with_column(key_id, {.values = std::span<const bool>(values), .validity = active(rows, context.memory)},
                            context.memory);
  }

 private:
  /// Returns a bitmap in which the bits of the active rows are set, because inactive rows have no value. If all rows
  /// are active, the bitmap is empty.
  static auto active(const row_set& rows, braid::arena& memory) -> bitmap {
    if (rows.size() == rows.table().size()) return {};
    const std::span<std::uint64_t> words = memory.filled(words_for(rows.table().size()), std::uint64_t{0});
    rows.for_each_row([words](std::uint32_t row) { set_bit(words.data(), row); });
    return bitmap(words.data());
  }
};

constexpr std::array flag_shape{
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = bool_types},
    param_shape{.name = "pred_id", .kind = param_kind::pred_id},
};

auto bind_flag(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const key_entry* key =
      find_typed_key(*node.find_param("out_key"), find_param_shape(flag_shape, "out_key"), context, problems);
  if (key == nullptr) return std::unexpected(std::move(problems));
  return make_bound(flag_params{.key_id = key->key_id, .program = context.preds[node.find_param("pred_id")->index()]});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::flag", .inputs = 1, .params = flag_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a bool column: whether a predicate holds for each row.",
          .bind = &bind_flag};
}

}  // namespace rankd::detail::flag_op
