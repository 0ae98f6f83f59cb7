// rankd/op/operators/columns/call_remote_model.cpp: implements the operator that scores rows with a model on another
// server.
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_columns.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/detail/model_messages.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail::call_remote_model_op {
namespace {

constexpr std::int64_t usual_rows = 1000;
constexpr std::int64_t max_rows_per_call = 10'000;

/// A column that is sent to the model server.
struct sent_column {
  std::uint32_t key_id = 0;
  std::string name;
  value_type type = value_type::floating;
};

/// A column that receives scores from the model server.
struct score_column {
  std::uint32_t key_id = 0;
  std::string name;
  bool is_nullable = true;
};

struct remote_params {
  std::uint32_t endpoint = 0;
  std::string model;
  std::string version;
  std::vector<sent_column> inputs;
  std::string tensor;
  float_width floats = float_width::bits_64;
  std::vector<std::string> outputs;
  std::vector<score_column> scores;
  std::size_t rows_per_call = usual_rows;
  std::optional<double> missing = {};

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* const from = context.stores[endpoint];
    if (from == nullptr)
      co_return std::unexpected(
          op_error{"model_unreachable", "model `" + model + "`: the server of the endpoint is not open"});
    const row_set& rows = context.inputs[0];
    const std::uint64_t bytes = rows.size() * (inputs.size() + scores.size()) * sizeof(double) +
                                rows.table().size() * scores.size() * sizeof(double);
    if (!context.may_make(0, bytes)) co_return over_budget();
    const auto sent = context.memory.filled(inputs.size(), model_input());
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      auto values = list_values(inputs[at], rows, context.memory);
      if (!values) co_return std::unexpected(std::move(values.error()));
      sent[at] = {.name = inputs[at].name, .values = *values};
    }
    const std::vector<std::string_view> wanted(outputs.begin(), outputs.end());
    const model_call what{.model = model,
                          .version = version,
                          .inputs = sent,
                          .tensor = tensor,
                          .floats = floats,
                          .outputs = wanted,
                          .scores = scores.size(),
                          .rows = rows.size(),
                          .rows_per_call = rows_per_call};
    const auto got = answer_to<model_call>(co_await from->ask(what, context.memory));
    if (!got) {
      store_failure why = from->explain(got.error());
      co_return std::unexpected(op_error{std::move(why.code), "model `" + model + "`: " + why.message});
    }
    co_return with_scores(rows, *got, context.memory);
  }

 private:
  using input_values = decltype(model_input::values);

  /// Returns the values of the active rows of a column, in row order.
  [[nodiscard]] auto list_values(const sent_column& sent, const row_set& rows, braid::arena& memory) const
      -> op_result<input_values> {
    const std::optional<column> from = rows.table().find(sent.key_id);
    const auto gather = [&](auto none, const auto& value) -> op_result<input_values> {
      const std::span<decltype(none)> out = memory.uninitialized<decltype(none)>(rows.size());
      for (std::size_t at = 0; at < rows.size(); ++at) {
        const bool is_null = !from || from->is_null(rows.row(at));
        if (is_null && (!missing || std::is_same_v<decltype(none), std::string_view>)) return null_in(sent, rows, at);
        out[at] = is_null ? none : value(rows.row(at));
      }
      return input_values(std::span<const decltype(none)>(out));
    };
    const double instead = missing.value_or(0);
    switch (sent.type) {
      case value_type::floating: return gather(instead, [&](std::uint32_t row) { return (*from->floats())[row]; });
      case value_type::integer: {
        const auto value = [&](std::uint32_t row) { return (*from->integers())[row]; };
        if (tensor.empty()) return gather(static_cast<std::int64_t>(instead), value);
        return gather(instead, [&](std::uint32_t row) { return static_cast<double>(value(row)); });
      }
      case value_type::boolean: {
        const auto value = [&](std::uint32_t row) { return (*from->booleans())[row]; };
        if (tensor.empty()) return gather(instead != 0, value);
        return gather(instead, [&](std::uint32_t row) { return value(row) ? 1.0 : 0.0; });
      }
      default: return gather(std::string_view(), [&](std::uint32_t row) { return (*from->strings())[row]; });
    }
  }

  [[nodiscard]] auto null_in(const sent_column& sent, const row_set& rows, std::size_t position) const
      -> std::unexpected<op_error> {
    const bool is_text = sent.type == value_type::string;
    return std::unexpected(op_error{"null_value", "model `" + model + "` cannot score the row with id " +
                                                      to_text(rows.table().id(rows.row(position))) + ": its `" +
                                                      sent.name + "` is null" +
                                                      (is_text ? "" : ", and the node has no `missing`")});
  }

  [[nodiscard]] auto with_scores(const row_set& rows, const score_batch& got, braid::arena& memory) const
      -> op_result<row_set> {
    row_set out = rows;
    for (std::size_t at = 0; at < scores.size(); ++at) {
      decoded<double> values(rows.table().size(), memory);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const double score = got.at(row, at);
        if (!std::isnan(score))
          values.set(rows.row(row), score);
        else if (!scores[at].is_nullable)
          return std::unexpected(op_error{"null_value", "model `" + model + "` returned no score for the row with id " +
                                                            to_text(rows.table().id(rows.row(row))) + ", but `" +
                                                            scores[at].name + "` must not be null"});
      }
      out = out.with_column(scores[at].key_id,
                            {.values = std::span<const double>(values.values), .validity = bitmap(values.valid.data())},
                            memory);
    }
    return out;
  }
};

constexpr std::array<std::string_view, 1> http_kinds{"http"};
constexpr std::array<std::string_view, 2> width_names{"fp64", "fp32"};
constexpr param_shape inputs_shape{
    .name = "inputs", .kind = param_kind::key_ids, .min_items = 1, .choices = scalar_types};
constexpr param_shape out_keys_shape{
    .name = "out_keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = float_types};
constexpr param_shape floats_shape{
    .name = "floats", .kind = param_kind::enumeration, .need = presence::nullable, .choices = width_names};
constexpr std::array remote_shape{
    param_shape{.name = "endpoint", .kind = param_kind::endpoint_ref, .choices = http_kinds},
    param_shape{.name = "model", .kind = param_kind::string},
    param_shape{.name = "version", .kind = param_kind::string, .need = presence::nullable},
    inputs_shape,
    param_shape{.name = "tensor", .kind = param_kind::string, .need = presence::nullable},
    floats_shape,
    param_shape{.name = "outputs", .kind = param_kind::texts, .need = presence::nullable, .min_items = 1},
    out_keys_shape,
    param_shape{.name = "missing", .kind = param_kind::float64, .need = presence::nullable},
    param_shape{.name = "rows_per_call",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 1, .max = max_rows_per_call}},
};

void report(const plan_param& param, std::string_view code, std::string message, std::string_view hint,
            braid::diagnostics& problems) {
  problems.add({.code = std::string(code),
                .pointer = param.pointer,
                .message = std::move(message),
                .hint = std::string(hint),
                .node = {},
                .source = {}});
}

/// Returns the text of a param that becomes a part of the URL path.
auto path_part(const plan_node& node, std::string_view name, braid::diagnostics& problems) -> std::string {
  const plan_param* const param = node.find_param(name);
  if (param == nullptr) return {};
  const auto& text = std::get<std::string>(param->value);
  const bool is_plain =
      !text.empty() && text.size() <= max_name && text.front() != '.' && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
      });
  if (!is_plain)
    report(
        *param, "bad_name",
        "`" + std::string(name) + "` is " + quote_name(text) + "; only letters, digits, `_`, `-` and `.` are allowed",
        "use the name of the model on the server: at most 100 characters, not beginning with a dot", problems);
  return text;
}

auto find_inputs(const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> std::vector<sent_column> {
  std::vector<sent_column> out;
  const plan_param& param = *node.find_param("inputs");
  const plan_param* const tensor = node.find_param("tensor");
  for (const key_entry* key : find_typed_keys(param, inputs_shape, context, problems)) {
    if (key == nullptr) continue;
    if (tensor != nullptr && key->type == value_type::string)
      report(param, "wrong_key_type",
             "key " + std::to_string(key->key_id) + " (" + key->name +
                 ") is of type string, but all inputs are sent as one tensor of floats",
             "remove `tensor`, so that each input is a separate tensor", problems);
    out.push_back({.key_id = key->key_id, .name = key->name, .type = key->type});
  }
  return out;
}

/// Checks `missing`, the substitute for nulls. If the node sends a column of integers, reports bad_value unless
/// `missing` is a 64-bit integer.
void check_missing(const plan_param& param, const remote_params& params, braid::diagnostics& problems) {
  constexpr double end = 0x1p63;
  const double value = *params.missing;
  const bool is_whole = value >= -end && value < end && value == std::trunc(value);
  if (is_whole || !params.tensor.empty()) return;
  for (const sent_column& each : params.inputs)
    if (each.type == value_type::integer)
      return report(param, "bad_value", "`missing` replaces nulls of `" + each.name + "`, which is of type int",
                    "write a 64-bit integer", problems);
}

/// Reports the items of `outputs` that cannot be the name of a tensor or of a column.
void check_outputs(const plan_param& param, braid::diagnostics& problems) {
  for (std::size_t at = 0; at < param.names.size(); ++at)
    if (const std::string& name = param.names[at]; !is_output_name(name))
      problems.add({.code = "bad_value",
                    .pointer = braid::json_pointer(param.pointer, at),
                    .message = quote_name(name) +
                               " is not a tensor or a column of one; a name must not be empty, and " +
                               "columns are numbered from 0 to " + std::to_string(max_score_columns - 1),
                    .hint = R"(write the name of a tensor, or a column of it, such as "probabilities[1]")",
                    .node = {},
                    .source = {}});
}

auto text_of(const plan_node& node, std::string_view name, braid::diagnostics& problems) -> std::string {
  const plan_param* const param = node.find_param(name);
  if (param == nullptr) return {};
  const auto& text = std::get<std::string>(param->value);
  if (text.empty())
    report(*param, "bad_value", "`" + std::string(name) + "` is empty", "name the tensor, or remove the option",
           problems);
  return text;
}

auto bind_remote(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  remote_params params;
  params.endpoint = find_http_endpoint(*node.find_param("endpoint"), context, problems);
  params.model = path_part(node, "model", problems);
  params.version = path_part(node, "version", problems);
  params.inputs = find_inputs(node, context, problems);
  params.tensor = text_of(node, "tensor", problems);
  params.floats = static_cast<float_width>(find_choice(node, floats_shape));
  const plan_param& out_keys = *node.find_param("out_keys");
  for (const key_entry* key : find_typed_keys(out_keys, out_keys_shape, context, problems))
    if (key != nullptr)
      params.scores.push_back({.key_id = key->key_id, .name = key->name, .is_nullable = key->nullable});
  if (const plan_param* const outputs = node.find_param("outputs")) {
    params.outputs = outputs->names;
    check_outputs(*outputs, problems);
    check_same_length(*outputs, outputs->names.size(), out_keys, out_keys.key_ids.size(), problems);
  }
  if (const plan_param* const missing = node.find_param("missing")) {
    params.missing = std::get<double>(missing->value);
    check_missing(*missing, params, problems);
  }
  if (const plan_param* const rows = node.find_param("rows_per_call"))
    params.rows_per_call = static_cast<std::size_t>(std::get<std::int64_t>(rows->value));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::call_remote_model", .inputs = 1, .params = remote_shape},
          .change = row_change::preserves_view,
          .doc = "Adds float columns: the scores of a model that another server runs (Open Inference Protocol V2).",
          .bind = &bind_remote};
}

}  // namespace rankd::detail::call_remote_model_op
