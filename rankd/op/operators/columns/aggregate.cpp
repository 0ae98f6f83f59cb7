// rankd/op/operators/columns/aggregate.cpp: implements the operator that adds a column with one number computed from
// many rows, such as a sum.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/written_key.hpp>
#include <rankd/rows/aggregate.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail::aggregate_op {
namespace {

struct aggregate_params {
  aggregate_options how;
  std::string_view name;  ///< of the kind
  written_key out;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return (how.group_key ? 30.0 : 8.0) * static_cast<double>(rows);
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const column values = aggregate(rows, how, context.memory);
    if (auto wrong = refused_value(rows, values, out, name)) return std::unexpected(std::move(*wrong));
    return rows.with_column(out.key_id, values, context.memory);
  }
};

/// The names of the values of `aggregate_kind`, in the order of the enumeration.
constexpr std::array<std::string_view, 5> aggregate_kinds{"count", "sum", "mean", "min", "max"};
constexpr std::array<std::string_view, 4> of_values{"sum", "mean", "min", "max"};
constexpr std::array aggregate_shape{
    param_shape{.name = "of", .kind = param_kind::enumeration, .choices = aggregate_kinds},
    param_shape{.name = "key",
                .kind = param_kind::key_id,
                .choices = number_types,
                .when = {.param = "of", .values = of_values}},
    param_shape{.name = "per", .kind = param_kind::key_id, .need = presence::nullable, .choices = scalar_types},
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = float_types},
};

auto bind_aggregate(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto find = [&](std::string_view name) -> const key_entry* {
    const plan_param* given = node.find_param(name);
    return given == nullptr ? nullptr
                            : find_typed_key(*given, find_param_shape(aggregate_shape, name), context, problems);
  };
  const std::size_t kind = find_choice(node, find_param_shape(aggregate_shape, "of"));
  const key_entry* key = find("key");
  const key_entry* group = find("per");
  const key_entry* out = find("out_key");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  aggregate_params made{.how = {.kind = static_cast<aggregate_kind>(kind), .key_id = 0, .group_key = std::nullopt},
                        .name = aggregate_kinds[kind],
                        .out = written_key(*out)};
  if (key != nullptr) made.how.key_id = key->key_id;
  if (group != nullptr) made.how.group_key = group->key_id;
  return make_bound(std::move(made));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::aggregate", .inputs = 1, .params = aggregate_shape},
          .change = row_change::preserves_view,
          .doc =
              "Adds a float column: a count, sum, mean, minimum or maximum over all rows, or over those with the same "
              "value.",
          .bind = &bind_aggregate};
}

}  // namespace rankd::detail::aggregate_op
