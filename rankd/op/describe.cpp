// rankd/op/describe.cpp: prints the tables of operators and of expression operations as TOML.
#include <rankd/op/describe.hpp>

#include <rankd/expr/detail/ops.hpp>
#include <rankd/op/operator_list.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

/// Returns the text as a TOML string. Every JSON string is also a basic string of TOML.
auto quoted(std::string_view text) -> std::string { return nlohmann::json(text).dump(); }

void append_line(std::string& out, std::string_view field, std::string_view value) {
  out.append(field).append(" = ").append(value) += '\n';
}

auto format_list(std::span<const std::string_view> items) -> std::string {
  std::string out = "[";
  for (const std::string_view item : items) out.append(out.size() > 1 ? ", " : "").append(quoted(item));
  return out + "]";
}

auto choices_field(param_kind kind) noexcept -> std::string_view {
  if (kind == param_kind::key_id || kind == param_kind::key_ids) return "key_types";
  return kind == param_kind::endpoint_ref ? "endpoint_kinds" : "choices";
}

/// Prints the range of a param. Omits a bound that follows from the type of the param.
void append_range(std::string& out, const param_shape& param) {
  if (param.min_items != 0) append_line(out, "min_items", std::to_string(param.min_items));
  constexpr int_range any_int;
  constexpr float_range any_float;
  if (param.kind == param_kind::int64) {
    if (param.range.min != any_int.min) append_line(out, "min", std::to_string(param.range.min));
    if (param.range.max != any_int.max) append_line(out, "max", std::to_string(param.range.max));
  }
  if (param.kind == param_kind::float64) {
    if (param.floats.min != any_float.min) append_line(out, "min", nlohmann::json(param.floats.min).dump());
    if (param.floats.max != any_float.max) append_line(out, "max", nlohmann::json(param.floats.max).dump());
  }
}

void append_param(std::string& out, const param_shape& param) {
  out += "\n[[op.param]]\n";
  append_line(out, "name", quoted(param.name));
  append_line(out, "kind", quoted(to_string(param.kind)));
  append_line(out, "required", param.need == presence::required ? "true" : "false");
  append_range(out, param);
  if (param.kind == param_kind::key_id || param.kind == param_kind::key_ids)
    append_line(out, "use", param.use == key_use::read ? quoted("read") : quoted("write"));
  if (!param.choices.empty()) append_line(out, choices_field(param.kind), format_list(param.choices));
  if (param.bindable) append_line(out, "bindable", "true");
  if (!param.capability.empty()) append_line(out, "capability", quoted(param.capability));
  if (param.when.param.empty()) return;
  append_line(out, "when", quoted(param.when.param));
  append_line(out, "when_values", format_list(param.when.values));
}

/// Returns the inputs from which the output rows of a library's operator take columns, in addition to the columns that
/// the operator writes. The empty string means all inputs.
auto columns_of_own(const op_entry& entry) -> std::string_view {
  if (entry.change == row_change::dense_source) return "written";
  const bool has_more = std::ranges::any_of(
      entry.shape.params, [](const param_shape& param) { return param.kind == param_kind::node_ref; });
  return has_more && !makes_rows(entry.change) ? "first_input" : "";
}

void append_op(std::string& out, const op_entry& entry, std::string_view columns = {}) {
  out += "\n[[op]]\n";
  append_line(out, "name", quoted(entry.shape.name));
  append_line(out, "inputs", std::to_string(entry.shape.inputs));
  if (entry.shape.optional_inputs != 0)
    append_line(out, "optional_inputs", std::to_string(entry.shape.optional_inputs));
  if (!columns.empty()) append_line(out, "columns", quoted(columns));
  append_line(out, "doc", quoted(entry.doc));
  for (const param_shape& param : entry.shape.params) append_param(out, param);
}

/// The names of the values of `field_kind`, in the order of the enumeration.
constexpr std::array<std::string_view, 14> field_kind_names{"value", "truth", "number", "bool",    "key_id",
                                                            "param", "cmp",   "list",   "pattern", "flags",
                                                            "text",  "count", "seed",   "string"};

void append_tree_op(std::string& out, const detail::op_row& row) {
  const auto kind_name = [](detail::field_kind kind) { return field_kind_names[static_cast<std::size_t>(kind)]; };
  out += "\n[[tree_op]]\n";
  append_line(out, "name", quoted(row.name));
  append_line(out, "gives", quoted(kind_name(row.result)));
  std::string fields = "[";
  for (const detail::op_field& field : row.fields)
    fields += (fields.size() > 1 ? ", [" : "[") + quoted(field.name) + ", " + quoted(kind_name(field.kind)) + "]";
  append_line(out, "fields", fields + "]");
  if (!row.capability.empty()) append_line(out, "capability", quoted(row.capability));
}

}  // namespace

auto to_string(param_kind kind) noexcept -> std::string_view {
  switch (kind) {
    case param_kind::int64: return "int";
    case param_kind::float64: return "float";
    case param_kind::boolean: return "bool";
    case param_kind::string: return "string";
    case param_kind::enumeration: return "choice";
    case param_kind::name: return "name";
    case param_kind::expr_id: return "expr_id";
    case param_kind::pred_id: return "pred_id";
    case param_kind::pred_ids: return "pred_ids";
    case param_kind::node_ref: return "node_ref";
    case param_kind::endpoint_ref: return "endpoint_ref";
    case param_kind::key_id: return "key_id";
    case param_kind::key_ids: return "key_ids";
    case param_kind::names: return "names";
    case param_kind::ascending: return "ascending";
    case param_kind::literals: return "literals";
    case param_kind::texts: return "texts";
    case param_kind::key_template: return "key_template";
  }
  return "";
}

auto ops_toml() -> std::string {
  std::string out =
      "# The operators of plans and the ops of expressions, as printed by `rankd ops --toml`. Every operator also "
      "takes\n"
      "# `trace`, a string.\n";
  for (const op_entry& entry : all_ops()) append_op(out, entry);
  for (const detail::op_row& row : detail::all_op_rows()) append_tree_op(out, row);
  return out;
}

auto own_ops_toml(std::span<const op_entry* const> own) -> std::string {
  std::string out = "# Operators of the project's own, as `rankd ops --own --toml` prints them.\n";
  for (const op_entry* entry : own) append_op(out, *entry, columns_of_own(*entry));
  return out;
}

}  // namespace rankd
