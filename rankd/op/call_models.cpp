// rankd/op/call_models.cpp: the operator that scores rows by models from files.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <rankd/rows/defect.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

/// A model, and the key of its scores.
struct called_model {
  std::string name;
  std::shared_ptr<const model> scores_by;
  std::uint32_t key_id = 0;
  std::string key_name;
  null_rule nulls = null_rule::allowed;
};

struct call_models_params {
  std::vector<called_model> called;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    double each_row = 0;
    for (const called_model& each : called) each_row += each.scores_by->row_ns();
    return each_row * static_cast<double>(rows);
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    std::uint64_t bytes = called.size() * rows.table().size() * sizeof(double);
    for (const called_model& each : called) bytes += each.scores_by->work_bytes();
    if (!context.may_make(0, bytes)) return over_budget();
    row_set out = rows;
    for (const called_model& each : called) {
      auto sums =
          each.scores_by->sums(rows, context.memory, {.rows_of_part = context.rows_of_part, .stop = context.stop});
      if (!sums) return std::unexpected(op_error{"stopped", "it was stopped while it computed"});
      if (const auto wrong = find_defect(rows, sums->values, each.nulls)) return refused(each, rows, *wrong);
      if (each.scores_by->link() == score_link::sigmoid) sums->squeeze();
      out = out.with_column(each.key_id, sums->values, context.memory);
    }
    return out;
  }

 private:
  static auto refused(const called_model& by, const row_set& rows, const defect& wrong) -> std::unexpected<op_error> {
    const std::string what = "model `" + by.name + "` gives row " + std::to_string(wrong.row) + " (id " +
                             to_text(rows.table().id(wrong.row)) + ") ";
    if (wrong.kind == defect_kind::non_finite)
      return std::unexpected(op_error{"non_finite_value", what + "a score that is not a finite number"});
    return std::unexpected(op_error{"null_value", what + "no score, which `" + by.key_name + "` refuses"});
  }
};

constexpr std::array<std::string_view, 1> score_types{"float"};
constexpr param_shape out_keys_shape{
    .name = "out_keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = score_types};
constexpr std::array call_models_shape{
    param_shape{.name = "models", .kind = param_kind::names, .min_items = 1},
    out_keys_shape,
};

auto bind_call_models(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  call_models_params params;
  const plan_param& models = *node.find_param("models");
  const plan_param& out_keys = *node.find_param("out_keys");
  const auto keys = find_typed_keys(out_keys, out_keys_shape, with, problems);
  check_same_length(out_keys, keys.size(), models, models.names.size(), problems);
  for (std::size_t at = 0; at < models.names.size(); ++at) {
    auto found = find_model(models, at, with, problems);
    if (found == nullptr || at >= keys.size() || keys[at] == nullptr) continue;
    params.called.push_back({.name = models.names[at],
                             .scores_by = std::move(found),
                             .key_id = keys[at]->key_id,
                             .key_name = keys[at]->name,
                             .nulls = keys[at]->nullable ? null_rule::allowed : null_rule::refused});
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto call_models_entry() -> op_entry {
  return {.shape = {.name = "core::call_models", .inputs = 1, .params = call_models_shape},
          .change = row_change::preserves_view,
          .doc = "Adds float columns: the scores of models from files.",
          .bind = &bind_call_models};
}

}  // namespace rankd::detail
