// rankd/op/operators/rows/rank_fusion.cpp: implements the operator that merges lists by the rank that each id has in
// each list.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/aggregate.hpp>

#include <array>
#include <cstdint>

namespace rankd::detail::rank_fusion_op {
namespace {

struct fusion_params {
  std::uint32_t list_key = 0;
  std::uint32_t out_key = 0;
  double k = 60;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 45.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const fused_ranks fused = fuse_ranks(rows, list_key, k, context.memory);
    return fused.rows.with_column(out_key, fused.scores, context.memory);
  }
};

constexpr param_shape out_key_shape{
    .name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = float_types};

constexpr std::array fusion_shape{
    param_shape{.name = "by", .kind = param_kind::key_id, .choices = scalar_types},
    param_shape{.name = "k", .kind = param_kind::float64, .need = presence::nullable, .floats = {.min = 0, .max = 1e9}},
    out_key_shape,
};

auto bind_fusion(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const key_entry* by = find_typed_key(*node.find_param("by"), find_param_shape(fusion_shape, "by"), context, problems);
  const key_entry* out = find_typed_key(*node.find_param("out_key"), out_key_shape, context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  fusion_params fusion{.list_key = by->key_id, .out_key = out->key_id};
  if (const plan_param* k = node.find_param("k")) fusion.k = std::get<double>(k->value);
  return make_bound(fusion);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::rank_fusion", .inputs = 1, .params = fusion_shape},
          .change = row_change::distinct,
          .doc =
              "Keeps one row of each id, and adds a float column: the sum of 1 / (k + rank) over the lists that have "
              "the id.",
          .bind = &bind_fusion};
}

}  // namespace rankd::detail::rank_fusion_op
