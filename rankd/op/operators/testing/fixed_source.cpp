// rankd/op/operators/testing/fixed_source.cpp: implements the test source that returns rows with the ids 1, 2, 3 and so
// on.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <array>
#include <numeric>
#include <span>

namespace rankd::detail::fixed_source_op {
namespace {

struct fixed_source_params {
  std::size_t rows = 1;

  [[nodiscard]] auto cost_ns(std::size_t /*incoming*/) const noexcept -> double { return static_cast<double>(rows); }
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    if (!context.may_make(rows, rows * sizeof(std::int64_t))) return over_budget();
    const std::span<std::int64_t> ids = context.memory.uninitialized<std::int64_t>(rows);
    std::iota(ids.begin(), ids.end(), std::int64_t{1});
    return row_set(batch(ids));
  }
};

constexpr std::array fixed_source_shape{param_shape{.name = "row_count",
                                                    .kind = param_kind::int64,
                                                    .need = presence::nullable,
                                                    .range = {.min = 0, .max = 10'000'000}}};

auto bind_fixed_source(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  need_integer_ids(node, context, "", problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const plan_param* rows = node.find_param("row_count");
  return make_bound(
      fixed_source_params{rows == nullptr ? 1 : static_cast<std::size_t>(std::get<std::int64_t>(rows->value))});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "test::fixed_source", .inputs = 0, .params = fixed_source_shape},
          .change = row_change::dense_source,
          .doc = "Returns rows with the ids 1 to row_count.",
          .bind = &bind_fixed_source};
}

}  // namespace rankd::detail::fixed_source_op
