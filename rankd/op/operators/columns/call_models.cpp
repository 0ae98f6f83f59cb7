// rankd/op/operators/columns/call_models.cpp: implements the operator that scores rows by models from files.
#include <rankd/op/detail/written_key.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <rankd/rows/defect.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rankd::detail::call_models_op {
namespace {

/// A model, and the keys that receive its outputs.
struct called_model {
  std::string name;
  std::shared_ptr<const model> scores_by;
  std::vector<written_key> keys;
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
    std::uint64_t bytes = 0;
    for (const called_model& each : called)
      bytes += each.keys.size() * rows.table().size() * sizeof(double) + each.scores_by->work_bytes();
    if (!context.may_make(0, bytes)) return over_budget();
    row_set out = rows;
    for (const called_model& each : called) {
      auto sums =
          each.scores_by->sums(rows, context.memory, {.rows_of_part = context.rows_of_part, .stop = context.stop});
      if (!sums) return std::unexpected(op_error{"stopped", "the node was stopped during its computation"});
      if (auto checked = check(each, rows, *sums); !checked) return std::unexpected(std::move(checked.error()));
      // The score of a finite sum can be infinite, for example if it is the exponential of the sum.
      if (each.scores_by->link(*sums))
        if (auto checked = check(each, rows, *sums); !checked) return std::unexpected(std::move(checked.error()));
      for (std::size_t at = 0; at < sums->size(); ++at)
        out = out.with_column(each.keys[at].key_id, (*sums)[at].values, context.memory);
    }
    return out;
  }

 private:
  static auto check(const called_model& called, const row_set& rows, std::span<const model_sums> sums)
      -> op_result<void> {
    for (std::size_t at = 0; at < sums.size(); ++at)
      if (const auto wrong = find_defect(rows, sums[at].values, called.keys[at].nulls))
        return refused(called, at, rows, *wrong);
    return {};
  }

  static auto refused(const called_model& called, std::size_t output, const row_set& rows, const defect& wrong)
      -> std::unexpected<op_error> {
    const std::string what = "model `" + called.name + "` gives row " + std::to_string(wrong.row) + " (id " +
                             to_text(rows.table().id(wrong.row)) + ") ";
    if (wrong.kind == defect_kind::non_finite)
      return std::unexpected(op_error{"non_finite_value", what + "a score that is not a finite number"});
    return std::unexpected(
        op_error{"null_value", what + "no score, but `" + called.keys[output].name + "` must not be null"});
  }
};

constexpr param_shape out_keys_shape{
    .name = "out_keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = float_types};
constexpr std::array call_models_shape{
    param_shape{.name = "models", .kind = param_kind::names, .min_items = 1},
    out_keys_shape,
};

/// Reports wrong_length if the number of keys differs from the number of the models' outputs. If a model was not found,
/// the number of its outputs is unknown, so additional keys are allowed.
void check_outputs(const plan_param& out_keys, std::span<const called_model> called, braid::diagnostics& problems) {
  std::size_t wanted = 0;
  std::string all;
  for (const called_model& each : called) {
    const std::size_t outputs = each.scores_by == nullptr ? 1 : each.scores_by->outputs();
    wanted += outputs;
    all.append(all.empty() ? "" : ", ").append("`" + each.name + "` " + std::to_string(outputs));
  }
  const auto is_found = [](const called_model& each) { return each.scores_by != nullptr; };
  const std::size_t given = out_keys.key_ids.size();
  if (given == wanted || (given > wanted && !std::ranges::all_of(called, is_found))) return;
  problems.add({.code = "wrong_length",
                .pointer = out_keys.pointer,
                .message = "`out_keys` has " + counted(given, "item") + ", but the models return " +
                           counted(wanted, "score") + " for each row (" + all + ")",
                .hint = "name one key for each score of each model, in the order of the model's classes",
                .node = {},
                .source = {}});
}

auto bind_call_models(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  call_models_params params;
  const plan_param& models = *node.find_param("models");
  const plan_param& out_keys = *node.find_param("out_keys");
  const auto keys = find_typed_keys(out_keys, out_keys_shape, context, problems);
  std::size_t wanted = 0;
  for (std::size_t at = 0; at < models.names.size(); ++at) {
    called_model made{.name = models.names[at], .scores_by = find_model(models, at, context, problems), .keys = {}};
    const std::size_t outputs = made.scores_by == nullptr ? 1 : made.scores_by->outputs();
    for (std::size_t end = wanted + outputs; wanted < end; ++wanted) {
      if (wanted >= keys.size() || keys[wanted] == nullptr) continue;
      made.keys.emplace_back(*keys[wanted]);
    }
    params.called.push_back(std::move(made));
  }
  check_outputs(out_keys, params.called, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::call_models", .inputs = 1, .params = call_models_shape},
          .change = row_change::preserves_view,
          .doc = "Adds float columns: the scores of models from files.",
          .bind = &bind_call_models,
          .adds = {.option = "out_keys", .hint = "write the scores under a key that no earlier node has written"},
          .models = "models"};
}

}  // namespace rankd::detail::call_models_op
