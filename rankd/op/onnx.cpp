// rankd/op/onnx.cpp: converts an ONNX file to a model: finds the nodes that the scores need, their steps, and the keys
// of the input columns.
#include <rankd/op/detail/onnx_call.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

constexpr std::size_t max_slots = 2 * max_model_keys;

constexpr std::string_view names_entry = "feature_names";
constexpr std::string_view naming_hint =
    "give the columns the names of keys: model.metadata_props.add(key=\"feature_names\", value=json.dumps([\"price\", "
    "\"age\"]))";

/// A column of a graph input. The name of the column is the name of a key.
struct input_column {
  std::string name;
  std::string pointer;
  onnx_type type = onnx_type::floats;
};

// The functions below select the outputs of the graph that are scores.

/// The outputs of the graph that are scores. If the graph also outputs labels, the model is a classifier.
struct chosen_outputs {
  std::vector<const onnx_value*> scores;
  bool has_labels = false;
};

auto choose_outputs(const onnx_file& file, const model_reading& reading) -> chosen_outputs {
  chosen_outputs out;
  for (const onnx_value& each : file.outputs) {
    if (each.is_map || is_real(each.type))
      out.scores.push_back(&each);
    else
      out.has_labels = true;
  }
  if (out.scores.empty())
    reading.report("missing_field", "/graph/output", "no output of the graph is tensor(float) or tensor(double)",
                   "a model returns scores; for a classifier these are the probabilities");
  return out;
}

// The functions below convert the nodes of the graph to steps.

/// Returns, for each node, whether the scores depend on it. Nodes that only compute the labels of a classifier are not
/// needed, and they often use operators and strings that rankd does not support.
auto needed_nodes(const onnx_file& file, const chosen_outputs& outputs) -> std::vector<bool> {
  std::set<std::string_view> names;
  for (const onnx_value* each : outputs.scores) names.insert(each->name);
  std::vector<bool> out(file.nodes.size());
  for (std::size_t at = file.nodes.size(); at-- > 0;) {
    const onnx_node& node = file.nodes[at];
    out[at] = std::ranges::any_of(node.outputs, [&](std::string_view each) { return names.contains(each); });
    if (out[at]) names.insert(node.inputs.begin(), node.inputs.end());
  }
  return out;
}

auto find_operator(const onnx_node& node) -> const onnx_operator* {
  for (const auto list : {onnx_arithmetic(), onnx_shapes(), onnx_learners()})
    for (const onnx_operator& each : list)
      if (each.domain == node.domain && each.name == node.op) return &each;
  return nullptr;
}

void refuse_operator(const onnx_call& call) {
  std::vector<std::string_view> known;
  for (const auto list : {onnx_arithmetic(), onnx_shapes(), onnx_learners()})
    for (const onnx_operator& each : list) known.push_back(each.name);
  const onnx_node& node = call.node();
  call.refuse("unknown_operator", "op_type",
              "the operator of " + shown(node.domain.empty() ? "ai.onnx" : node.domain) + " is not supported",
              braid::did_you_mean(is_utf8(node.op) ? node.op : "", known));
}

/// Returns the numbers of a node with the operator `Constant`.
auto read_constant_value(const onnx_call& call) -> std::optional<onnx_numbers> {
  if (call.has("value")) {
    const auto attribute = find_attribute(call.node(), "value", call.with());
    if (attribute && attribute->tensor) return read_numbers(*attribute->tensor, call.with());
  }
  for (const std::string_view name : {"value_float", "value_floats"})
    if (const auto floats = call.floats(name); !floats.empty())
      return onnx_numbers{onnx_type::floats, {static_cast<std::int64_t>(floats.size())}, floats};
  for (const std::string_view name : {"value_int", "value_ints"})
    if (const auto ints = call.ints(name); !ints.empty())
      return onnx_numbers{onnx_type::int64, {static_cast<std::int64_t>(ints.size())}, {ints.begin(), ints.end()}};
  call.refuse("missing_field", "value", "the constant has no numbers");
  return std::nullopt;
}

void read_constant(const onnx_call& call, onnx_scope& scope) {
  auto numbers = read_constant_value(call);
  if (!numbers || call.node().outputs.empty()) return;
  if (!call.has("value") && !call.has("value_floats") && !call.has("value_ints")) numbers->dims.clear();
  scope.numbers.emplace(call.node().outputs.front(), std::move(*numbers));
}

/// Records that the output of the node is the shape of its input. Only ConstantOfShape reads shapes.
void read_shape(const onnx_call& call, onnx_scope& scope) {
  if (call.rows(0) == nullptr) return;
  if (call.has("start") || call.has("end"))
    return call.refuse("bad_value", "start", "`start` and `end` are not supported");
  if (!call.node().outputs.empty()) scope.shapes.emplace(call.node().outputs.front(), call.node().inputs.front());
}

/// Creates the steps of a node. Returns false after a diagnostic.
auto read_node(const onnx_node& node, onnx_scope& scope) -> bool {
  const onnx_call call(node, scope);
  if (node.domain.empty() && node.op == "Constant") {
    read_constant(call, scope);
    return scope.with.problems.empty();
  }
  if (node.domain.empty() && node.op == "Shape") {
    read_shape(call, scope);
    return scope.with.problems.empty();
  }
  const onnx_operator* found = find_operator(node);
  if (found == nullptr) {
    refuse_operator(call);
    return false;
  }
  auto made = found->make(call);
  if (!scope.with.problems.empty() || !made) return false;
  if (made->slots.empty()) call.refuse("wrong_length", "output", "it returns no column");
  if (made->slots.size() > max_model_keys)
    call.refuse("too_many_items", "output", "it returns more than " + std::to_string(max_model_keys) + " columns");
  if (node.outputs.size() > found->output) {
    const std::string_view name = node.outputs[found->output];
    if (scope.file.constants.contains(name) || !scope.rows.emplace(name, std::move(*made)).second)
      call.refuse("duplicate_value", "output", shown(name) + " is already an output of another node");
  }
  return scope.with.problems.empty() && call.may_go_on();
}

// The functions below convert the inputs of the graph to keys.

/// Returns the names of all input columns from the metadata entry `feature_names`, in the order of the inputs.
auto read_names(const onnx_file& file, const model_reading& reading) -> std::optional<std::vector<std::string>> {
  const auto found = file.metadata.find(names_entry);
  if (found == file.metadata.end()) return std::nullopt;
  const std::string pointer = "/metadata_props/feature_names";
  const auto document = parse_json(found->second, "");
  if (!document || !document->is_array()) {
    reading.report("bad_value", pointer, "the names must be a JSON array", std::string(naming_hint));
    return std::vector<std::string>();
  }
  std::vector<std::string> out;
  for (std::size_t at = 0; at < document->size(); ++at) {
    const nlohmann::json& each = (*document)[at];
    if (!each.is_string())
      reading.report("wrong_type", braid::json_pointer(pointer, at), "a feature name must be a string");
    out.push_back(each.is_string() ? each.get<std::string>() : std::string());
    if (!reading.problems.empty()) break;
  }
  return out;
}

/// Returns the number of columns of an input. If the file does not contain this number, returns `otherwise`, which is 0
/// unless the graph has only one input and the file lists the names of columns. Returns 0 after a diagnostic.
auto find_columns(const onnx_value& input, std::size_t otherwise, const model_reading& reading) -> std::size_t {
  const bool is_number = is_real(input.type) || input.type == onnx_type::int64 || input.type == onnx_type::int32 ||
                         input.type == onnx_type::flags;
  if (input.is_map || !is_number) {
    reading.report("wrong_type", input.pointer,
                   "the input " + shown(input.name) + " is " + onnx_type_text(input.type) +
                       ", but the columns of keys are numbers",
                   "train on float columns; encode strings as numbers before training");
    return 0;
  }
  if (input.dims.size() == 1) return 1;
  const std::int64_t columns = input.dims.size() == 2 ? input.dims[1] : 0;
  if (columns == -1 && otherwise > 0) return otherwise;
  if (columns >= 1 && columns <= static_cast<std::int64_t>(max_model_keys)) return static_cast<std::size_t>(columns);
  reading.report(
      "wrong_length", input.pointer,
      "the input " + shown(input.name) + " must have rows and 1 to " + std::to_string(max_model_keys) + " columns");
  return 0;
}

/// Creates slots for the columns of each input, and returns the columns.
auto read_inputs(const onnx_file& file, onnx_scope& scope) -> std::vector<input_column> {
  std::vector<input_column> out;
  const auto names = read_names(file, scope.with);
  for (const onnx_value& input : file.inputs) {
    const std::size_t otherwise = names && file.inputs.size() == 1 ? names->size() : 0;
    const std::size_t columns = find_columns(input, otherwise, scope.with);
    if (!scope.with.problems.empty()) return out;
    onnx_rows rows{input.type, input.dims.size() == 1 ? 1U : 2U, {}};
    for (std::size_t at = 0; at < columns; ++at) {
      rows.slots.push_back(scope.out.input(width_of(input.type)));
      const bool is_named = !names && columns == 1 && is_utf8(input.name);
      out.push_back({is_named ? std::string(input.name) : std::string(), input.pointer, input.type});
    }
    if (out.size() > max_model_keys)
      scope.with.report("too_many_items", "/graph/input",
                        "the inputs have more than " + std::to_string(max_model_keys) + " columns");
    if (!scope.rows.emplace(input.name, std::move(rows)).second)
      scope.with.report("duplicate_value", input.pointer, "there is an input " + shown(input.name) + " already");
    if (!scope.with.problems.empty()) return out;
  }
  if (!names) return out;
  if (names->size() != out.size()) {
    scope.with.report(
        "wrong_length", "/metadata_props/feature_names",
        "the list has " + counted(names->size(), "name") + ", but the inputs have " + counted(out.size(), "column"));
    return out;
  }
  for (std::size_t at = 0; at < out.size(); ++at) {
    out[at].name = (*names)[at];
    out[at].pointer = braid::json_pointer("/metadata_props/feature_names", at);
  }
  return out;
}

/// Returns the id of the key of a column. Returns 0 after a diagnostic.
auto key_of(const input_column& column, const model_reading& reading) -> std::uint32_t {
  const std::uint32_t key = reading.key(column.name, column.pointer);
  if (key == 0) return 0;
  const value_type type = reading.declared.find_key(column.name)->type;
  const bool is_flag = column.type == onnx_type::flags;
  if (is_real(column.type) || type == value_type::boolean || (type == value_type::integer && !is_flag)) return key;
  reading.report("wrong_key_type", column.pointer,
                 "key " + quote_name(column.name) + " is of type " + std::string(to_string(type)) +
                     ", but the column of " + onnx_type_text(column.type) + " does not accept this type",
                 "convert the model with FloatTensorType for this column");
  return 0;
}

/// Replaces the column numbers in the program by the ids of the columns' keys.
void set_keys(program_model& program, const std::vector<input_column>& columns, const model_reading& reading) {
  const auto is_unnamed = [&](const program_key& each) { return columns[each.key_id].name.empty(); };
  if (const auto unnamed = std::ranges::find_if(program.keys, is_unnamed); unnamed != program.keys.end())
    return reading.report("unnamed_features", columns[unnamed->key_id].pointer,
                          "the columns of the input have no names", std::string(naming_hint));
  std::vector<std::uint32_t> seen;
  for (program_key& each : program.keys) {
    const input_column& column = columns[each.key_id];
    each.key_id = key_of(column, reading);
    if (each.key_id != 0 && !is_new(each.key_id, seen))
      reading.report("duplicate_value", column.pointer, "this key is listed twice");
  }
}

// The functions below find the slots of the scores.

/// Returns the slots of the scores. For two classes, only the second class has a score.
auto find_scores(const chosen_outputs& outputs, const onnx_scope& scope) -> slot_list {
  slot_list out;
  for (const onnx_value* each : outputs.scores) {
    const auto found = scope.rows.find(each->name);
    if (found == scope.rows.end() || found->second.rank > 2) {
      scope.with.report("unknown_value", each->pointer,
                        "no node computes a table of numbers for the output " + shown(each->name));
      return out;
    }
    out.insert(out.end(), found->second.slots.begin(), found->second.slots.end());
  }
  const bool has_classes = (outputs.has_labels || std::ranges::any_of(outputs.scores, &onnx_value::is_map)) &&
                           read_catboost_targets(scope.file) == catboost_targets::none;
  if (has_classes && out.size() == 2) return {out.back()};
  if (out.empty() || out.size() > max_outputs)
    scope.with.report("too_many_items", "/graph/output",
                      "the model returns " + counted(out.size(), "score") + " for each row; the limit is " +
                          std::to_string(max_outputs));
  return out;
}

// The functions below warn about nulls that reach trees.

/// Returns true if a node has trees and the file does not define how these trees treat nulls.
auto ignores_nulls(const onnx_node& node, onnx_scope& scope) -> bool {
  if (node.domain != onnx_ml || !node.op.starts_with("TreeEnsemble")) return false;
  const auto tracks = onnx_call(node, scope).ints("nodes_missing_value_tracks_true");
  return std::ranges::none_of(tracks, [](std::int64_t each) { return each != 0; });
}

/// Returns true if a null of an input can reach trees and the file does not define how these trees treat nulls. An
/// imputer replaces nulls before they reach the trees.
auto loses_nulls(const onnx_file& file, const std::vector<bool>& needed, onnx_scope& scope) -> bool {
  std::set<std::string_view> nullable;
  for (const onnx_value& each : file.inputs) nullable.insert(each.name);
  for (std::size_t at = 0; at < file.nodes.size(); ++at) {
    const onnx_node& node = file.nodes[at];
    const bool takes_nulls =
        std::ranges::any_of(node.inputs, [&](std::string_view each) { return nullable.contains(each); });
    if (!needed[at] || !takes_nulls || node.op == "Imputer") continue;
    if (ignores_nulls(node, scope)) return true;
    nullable.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

/// Warns if trees may send nulls to another child than scikit-learn does, and a key that these trees read may be null.
auto list_warnings(const program_model& program, const onnx_file& file, const std::vector<bool>& needed,
                   onnx_scope& scope) -> braid::diagnostics {
  const auto may_be_null = [&](const program_key& each) {
    return std::ranges::any_of(scope.with.declared.keys(),
                               [&](const key_entry& key) { return key.key_id == each.key_id && key.nullable; });
  };
  braid::diagnostics out;
  if (std::ranges::any_of(program.keys, may_be_null) && loses_nulls(file, needed, scope))
    out.add(problem_at("untracked_nulls", "/graph",
                       "the file does not say which branch nulls take, so all nulls take the right branch; "
                       "scikit-learn may take the left branch and return other scores",
                       "add a SimpleImputer before the trees"));
  return out;
}

}  // namespace

auto read_onnx(std::string_view bytes, const model_reading& reading) -> std::shared_ptr<const model> {
  const onnx_file file = read_onnx_file(bytes, reading);
  if (!reading.problems.empty()) return nullptr;
  const chosen_outputs outputs = choose_outputs(file, reading);
  program_builder builder;
  onnx_scope in{.file = file, .with = reading, .out = builder};
  const std::vector<input_column> columns = read_inputs(file, in);
  if (!reading.problems.empty()) return nullptr;
  const std::vector<bool> needed = needed_nodes(file, outputs);
  for (std::size_t at = 0; at < file.nodes.size(); ++at)
    if (needed[at] && !read_node(file.nodes[at], in)) return nullptr;
  slot_list scores = find_scores(outputs, in);
  if (!reading.problems.empty()) return nullptr;
  const std::size_t count = scores.size();
  program_model made = std::move(builder).finished(std::move(scores));
  if (made.slots > max_slots)
    reading.report("too_many_items", "/graph",
                   "the graph keeps " + std::to_string(made.slots) + " columns at a time; the limit is " +
                       std::to_string(max_slots));
  set_keys(made, columns, reading);
  if (!reading.problems.empty()) return nullptr;
  braid::diagnostics warnings = list_warnings(made, file, needed, in);
  return std::make_shared<const model>(std::move(made), std::vector<double>(count, 0.0), score_rule{},
                                       std::move(warnings));
}

}  // namespace rankd::detail
