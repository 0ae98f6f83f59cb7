// rankd/plan/nodes.cpp: reads nodes, their inputs and their params according to the shapes of the operators.
#include <rankd/plan/detail/artifact.hpp>
#include <rankd/plan/detail/capture_option.hpp>
#include <rankd/plan/detail/node_limits.hpp>
#include <rankd/plan/detail/read_cache.hpp>
#include <rankd/plan/key_template.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <expected>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

/// The objects that a reader of a node fills: the draft of the plan, and the errors of the node.
struct node_context {
  draft& into;
  braid::diagnostics& problems;  ///< of this node
};

/// Returns the number of the node, tree or other object with this name. If the name is unknown, reports an error about
/// the field that contains the name.
auto resolve(object_reader& reader, std::string_view field, const std::string& name, name_table& known,
             std::string_view code, std::string_view entity) -> std::optional<std::uint32_t> {
  const auto number = known.find(name);
  if (!number)
    reader.report(field, code, "there is no " + std::string(entity) + " " + quote_name(name), known.hint(name));
  return number;
}

auto read_name_param(object_reader& reader, const param_shape& shape, known_names& known) -> scalar {
  const std::string* name = reader.text(shape.name, shape.need);
  if (name == nullptr) return {};
  std::optional<std::uint32_t> number;
  if (shape.kind == param_kind::node_ref)
    number = resolve(reader, shape.name, *name, known.nodes, "unknown_node", "node");
  else if (shape.kind == param_kind::expr_id)
    number = resolve(reader, shape.name, *name, known.exprs, "unknown_expr", "expression");
  else
    number = resolve(reader, shape.name, *name, known.preds, "unknown_pred", "predicate");
  return number ? scalar(std::int64_t{*number}) : scalar();
}

auto read_endpoint(object_reader& reader, const param_shape& shape) -> scalar {
  const std::string* id = reader.text(shape.name, shape.need);
  if (id == nullptr) return {};
  if (is_endpoint_id(*id)) return *id;
  reader.report(shape.name, "bad_endpoint_id", quote_name(*id) + " must be `ep_` and four digits");
  return {};
}

auto read_choice(object_reader& reader, const param_shape& shape) -> scalar {
  const auto chosen = reader.choice(shape.name, shape.need, shape.choices);
  return chosen ? scalar(std::string(shape.choices[*chosen])) : scalar();
}

auto is_name(std::string_view text) -> bool { return is_identifier(text) && text.size() <= max_name; }

auto no_name(std::string_view text) -> std::string {
  return quote_name(text) + " must consist of at most " + std::to_string(max_name) +
         " letters, digits and `_`, and must not begin with a digit";
}

auto read_identifier(object_reader& reader, const param_shape& shape) -> scalar {
  const std::string* name = reader.text(shape.name, shape.need);
  if (name == nullptr) return {};
  if (is_name(*name)) return *name;
  reader.report(shape.name, "bad_name", no_name(*name));
  return {};
}

auto read_template(object_reader& reader, const param_shape& shape) -> scalar {
  const std::string* text = reader.text(shape.name, shape.need);
  if (text == nullptr) return {};
  auto parsed = key_template::parse(*text);
  if (parsed) return *text;
  template_problem& wrong = parsed.error();
  reader.report(shape.name, wrong.code, std::move(wrong.message), std::move(wrong.hint));
  return {};
}

/// Reads the value of a param. Returns null if the value is absent or wrong.
auto read_scalar(object_reader& reader, const param_shape& shape, known_names& known) -> scalar {
  switch (shape.kind) {
    case param_kind::int64: {
      const auto number = reader.integer(shape.name, shape.need, shape.range);
      return number ? scalar(*number) : scalar();
    }
    case param_kind::key_id: {
      const auto number = reader.id(shape.name, shape.need);
      return number ? scalar(std::int64_t{*number}) : scalar();
    }
    case param_kind::float64: return read_number(reader, shape);
    case param_kind::boolean: return reader.typed(shape.name, shape.need, value_type::boolean).value_or(scalar());
    case param_kind::string: return reader.typed(shape.name, shape.need, value_type::string).value_or(scalar());
    case param_kind::enumeration: return read_choice(reader, shape);
    case param_kind::endpoint_ref: return read_endpoint(reader, shape);
    case param_kind::name: return read_identifier(reader, shape);
    case param_kind::key_template: return read_template(reader, shape);
    case param_kind::expr_id:
    case param_kind::pred_id:
    case param_kind::node_ref: return read_name_param(reader, shape, known);
    case param_kind::key_ids:
    case param_kind::pred_ids:
    case param_kind::names:
    case param_kind::ascending:
    case param_kind::literals:
    case param_kind::texts: break;
  }
  return {};
}

auto is_list(param_kind kind) -> bool {
  return kind == param_kind::key_ids || kind == param_kind::names || kind == param_kind::ascending ||
         kind == param_kind::literals || kind == param_kind::texts || kind == param_kind::pred_ids;
}

struct item_problem {
  std::string code;
  std::string message;
};

template <typename T>
using item_result = std::expected<T, item_problem>;

auto wrong_item(std::string code, std::string message) -> std::unexpected<item_problem> {
  return std::unexpected(item_problem{std::move(code), std::move(message)});
}

/// Reads the items of a list one by one. `read(item)` returns a value, or the code and message of an error.
template <typename T, typename Read>
auto read_items(object_reader& reader, const param_shape& shape, braid::diagnostics& problems, Read read)
    -> std::optional<std::vector<T>> {
  const json* list = reader.array(shape.name, shape.need);
  if (list == nullptr) return std::nullopt;
  if (list->size() < shape.min_items)
    reader.report(shape.name, "too_few_items",
                  quote_name(shape.name) + " needs at least " + counted(shape.min_items, "item"));
  const std::string parent = reader.pointer_of(shape.name);
  std::vector<T> out;
  std::set<T> seen;
  for (std::size_t i = 0; i < list->size(); ++i) {
    item_result<T> item = read((*list)[i]);
    if (item && !seen.insert(*item).second) item = wrong_item("duplicate_value", "the item is listed twice");
    if (item)
      out.push_back(std::move(*item));
    else
      problems.add({.code = std::move(item.error().code),
                    .pointer = braid::json_pointer(parent, i),
                    .message = std::move(item.error().message),
                    .hint = {},
                    .node = {},
                    .source = {}});
  }
  return out;
}

auto read_key_item(const json& item) -> item_result<std::uint32_t> {
  const auto number = scalar_from_json(item, value_type::integer);
  if (!number) return wrong_item(number.error().code, "the id of a key " + number.error().message);
  const std::int64_t key = std::get<std::int64_t>(*number);
  if (key < id_range.min || key > id_range.max) return wrong_item("out_of_range", "no key has this id");
  return static_cast<std::uint32_t>(key);
}

auto read_name_item(const json& item) -> item_result<std::string> {
  if (!item.is_string()) return wrong_item("wrong_type", "a name must be a string, not " + described(item));
  const auto& name = item.get_ref<const std::string&>();
  if (!is_name(name)) return wrong_item("bad_name", no_name(name));
  return name;
}

auto read_text_item(const json& item) -> item_result<std::string> {
  if (!item.is_string()) return wrong_item("wrong_type", "an item must be a string, not " + std::string(kind_of(item)));
  return item.get<std::string>();
}

/// Reads one number after another. A number must not be less than the number before it.
struct ascending_reader {
  std::optional<double> before;

  auto operator()(const json& item) -> item_result<scalar> {
    const auto number = scalar_from_json(item, value_type::floating);
    if (!number) return wrong_item(number.error().code, "an item " + number.error().message);
    const double value = std::get<double>(*number);
    if (before && value < *before) return wrong_item("not_sorted", "an item must not be less than the item before it");
    before = value;
    return value;
  }
};

/// Reads integers or strings. All items must be of the same kind as the first item.
struct literal_reader {
  std::optional<bool> strings;

  auto operator()(const json& item) -> item_result<scalar> {
    if (!strings) strings = item.is_string();
    if (*strings ? item.is_number_integer() : item.is_string())
      return wrong_item("mixed_list", *strings ? "a list that starts with a string must contain only strings"
                                               : "a list that starts with a number must contain only numbers");
    auto value = scalar_from_json(item, *strings ? value_type::string : value_type::integer);
    if (!value) return wrong_item(value.error().code, "an item " + value.error().message);
    return std::move(*value);
  }
};

/// Reads the names of predicates.
struct pred_reader {
  const name_table& preds;

  auto operator()(const json& item) const -> item_result<std::uint32_t> {
    if (!item.is_string())
      return wrong_item("wrong_type", "an item must be the name of a predicate, not " + described(item));
    const auto& name = item.get_ref<const std::string&>();
    if (const auto place = preds.find(name)) return *place;
    return wrong_item("unknown_pred", "there is no predicate " + quote_name(name));
  }
};

/// Reads a param that is a list. Returns false if the param is absent or not a list.
auto read_list(object_reader& reader, const param_shape& shape, node_context context, plan_param& out) -> bool {
  braid::diagnostics& problems = context.problems;
  const auto take = [](auto&& items, auto& into) {
    if (items) into = std::move(*items);
    return items.has_value();
  };
  switch (shape.kind) {
    case param_kind::pred_ids:
      return take(read_items<std::uint32_t>(reader, shape, problems, pred_reader{context.into.known.preds}), out.trees);
    case param_kind::key_ids:
      return take(read_items<std::uint32_t>(reader, shape, problems, read_key_item), out.key_ids);
    case param_kind::ascending: return take(read_items<scalar>(reader, shape, problems, ascending_reader{}), out.items);
    case param_kind::literals: return take(read_items<scalar>(reader, shape, problems, literal_reader{}), out.items);
    case param_kind::texts: return take(read_items<std::string>(reader, shape, problems, read_text_item), out.names);
    default: return take(read_items<std::string>(reader, shape, problems, read_name_item), out.names);
  }
}

/// Returns whether a param has an effect, which depends on the value of an earlier param. Returns nothing if the value
/// of that earlier param is wrong.
auto has_meaning(object_reader& reader, const param_shape& wanted, const op_shape& shape, const plan_node& out)
    -> std::optional<bool> {
  const param_condition& when = wanted.when;
  if (when.param.empty()) return true;
  if (const plan_param* chosen = out.find_param(when.param))
    return std::ranges::find(when.values, std::get<std::string>(chosen->value)) != when.values.end();
  const auto decisive = std::ranges::find(shape.params, when.param, &param_shape::name);
  if (decisive->need == presence::required || reader.value(when.param, presence::nullable) != nullptr)
    return std::nullopt;
  return false;
}

void refuse_without_meaning(object_reader& reader, const param_shape& wanted) {
  if (reader.value(wanted.name, presence::nullable) == nullptr) return;
  std::string values;
  for (const std::string_view each : wanted.when.values) values += (values.empty() ? "" : " or ") + quote_name(each);
  reader.report(wanted.name, "unused_param",
                quote_name(wanted.name) + " has an effect only if " + quote_name(wanted.when.param) + " is " + values);
}

/// Reports an error if a node has a list of conditions, but the plan does not list the capability for such lists.
void require_branches(object_reader& reader, const param_shape& conditions, const known_names& known) {
  if (known.capabilities.find(branch_capability)) return;
  reader.report(conditions.name, "capability_not_required",
                quote_name(conditions.name) + " needs a capability that the plan does not list",
                "add " + quote_name(branch_capability) + " to `capabilities_required`");
}

/// Reports an error if a node sets a param, but the plan does not list the capability with which this param was
/// introduced.
void require_capability(object_reader& reader, const param_shape& wanted, const known_names& known) {
  if (wanted.capability.empty() || known.capabilities.find(wanted.capability)) return;
  reader.report(wanted.name, "capability_not_required",
                quote_name(wanted.name) + " needs a capability that the plan does not list",
                "add " + quote_name(wanted.capability) + " to `capabilities_required`");
}

void read_params(const json& params, std::string pointer, const op_shape& shape, node_context context, plan_node& out) {
  object_reader reader(params, std::move(pointer), context.problems);
  for (param_shape wanted : shape.params) {
    const auto meant = has_meaning(reader, wanted, shape, out);
    if (meant == false) {
      refuse_without_meaning(reader, wanted);
      continue;
    }
    if (!meant) wanted.need = presence::nullable;
    plan_param param{.name = std::string(wanted.name),
                     .kind = wanted.kind,
                     .value = {},
                     .key_ids = {},
                     .pointer = reader.pointer_of(wanted.name)};
    if (is_list(wanted.kind)) {
      if (!read_list(reader, wanted, context, param)) continue;
      if (wanted.kind == param_kind::pred_ids) require_branches(reader, wanted, context.into.known);
    } else if (is_bound(reader, wanted)) {
      param.bound = read_binding(reader, wanted, context.into.known, context.problems);
      if (!param.bound) continue;
    } else {
      param.value = read_scalar(reader, wanted, context.into.known);
      if (is_null(param.value)) continue;
    }
    require_capability(reader, wanted, context.into.known);
    if (wanted.kind == param_kind::node_ref) out.sources.push_back(param.index());
    out.params.push_back(std::move(param));
  }
  if (const std::string* trace = reader.text("trace", presence::nullable)) out.trace = *trace;
  reader.refuse_unknown_fields();
}

void read_inputs(const json& inputs, std::string_view parent, node_context context, plan_node& out) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto report = [&](std::string_view code, std::string message, std::string hint) {
      context.problems.add({.code = std::string(code),
                            .pointer = braid::json_pointer(parent, i),
                            .message = std::move(message),
                            .hint = std::move(hint),
                            .node = {},
                            .source = {}});
    };
    if (!inputs[i].is_string()) {
      report("wrong_type", "an input must be the id of a node, not " + described(inputs[i]), {});
      continue;
    }
    const auto& name = inputs[i].get_ref<const std::string&>();
    name_table& nodes = context.into.known.nodes;
    if (const auto number = nodes.find(name))
      out.inputs.push_back(*number);
    else
      report("unknown_node", "there is no node " + quote_name(name), nodes.hint(name));
  }
  out.sources = out.inputs;
}

auto find_shape(object_reader& reader, const op_shapes& ops, plan_node& out) -> const op_shape* {
  const std::string* op = reader.text("op", presence::required);
  if (op == nullptr) return nullptr;
  out.op = *op;
  const op_shape* shape = ops.find(*op);
  if (shape == nullptr)
    reader.report("op", "unknown_op", "there is no operator " + quote_name(*op), braid::did_you_mean(*op, ops.names()));
  return shape;
}

void check_input_count(object_reader& reader, const op_shape& shape, std::size_t given) {
  const std::uint32_t min = shape.inputs - shape.optional_inputs;
  if (given >= min && given <= shape.inputs) return;
  const std::string range = (min == shape.inputs ? "" : std::to_string(min) + " to ") + counted(shape.inputs, "input");
  reader.report("inputs", "wrong_input_count",
                quote_name(shape.name) + " takes " + range + ", not " + std::to_string(given));
}

void check_node_id(object_reader& reader, node_index self, const name_table& nodes, plan_node& out) {
  const std::string* id = reader.text("node_id", presence::required);
  if (id == nullptr) return;
  out.node_id = *id;
  if (!is_plan_word(*id))
    reader.report("node_id", "bad_name", quote_name(*id) + " must consist of letters, digits and `_`");
  if (nodes.find(*id) != self)
    reader.report("node_id", "duplicate_node", "another node is already called " + quote_name(*id));
}

auto read_node(const json& value, node_index self, node_context context) -> plan_node {
  plan_node out;
  out.pointer = braid::json_pointer("/nodes", self);
  object_reader in(value, out.pointer, context.problems);
  check_node_id(in, self, context.into.known.nodes, out);
  const op_shape* shape = find_shape(in, context.into.rules.ops, out);
  if (const json* inputs = in.array("inputs", presence::required)) {
    if (shape != nullptr) check_input_count(in, *shape, inputs->size());
    read_inputs(*inputs, in.pointer_of("inputs"), context, out);
  }
  const json none = json::object();
  const json* params = in.value("params", presence::nullable);
  if (shape != nullptr) read_params(params == nullptr ? none : *params, in.pointer_of("params"), *shape, context, out);
  out.fallback = read_fallback(in, out, context.into, context.problems);
  read_limits(in, shape, context.into, out);
  read_capture(in, context.into, context.problems, out);
  read_cache(in, context.into, context.problems, out);
  out.extensions = read_extensions(in, context.into, context.problems);
  if (const json* span = in.value("source_span", presence::optional))
    out.span = read_span(*span, in.pointer_of("source_span"), context.into.out.source_files.size(), context.problems);
  in.refuse_unknown_fields();
  return out;
}

void report_size(std::string_view code, std::string_view items, std::size_t max_count, draft& draft) {
  draft.problems.add({.code = std::string(code),
                      .pointer = "/nodes",
                      .message = "a plan may have at most " + std::to_string(max_count) + " " + std::string(items),
                      .hint = {},
                      .node = {},
                      .source = {}});
}

}  // namespace

auto read_key_list(object_reader& reader, std::string_view field, braid::diagnostics& problems)
    -> std::optional<std::vector<std::uint32_t>> {
  const param_shape shape{.name = field, .kind = param_kind::key_ids, .need = presence::optional};
  return read_items<std::uint32_t>(reader, shape, problems, read_key_item);
}

auto name_table::find(std::string_view name) const -> std::optional<std::uint32_t> {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

auto name_table::hint(std::string_view name) -> std::string {
  if (hints_left_ == 0 || numbers_.size() > max_for_hints) return {};
  --hints_left_;
  std::vector<std::string_view> known;
  for (const auto& entry : numbers_) known.emplace_back(entry.first);
  return braid::did_you_mean(name, known);
}

void read_nodes(const json& nodes, draft& draft) {
  if (nodes.size() > max_plan_nodes) return report_size("too_many_nodes", "nodes", max_plan_nodes, draft);
  for (node_index i = 0; i < nodes.size(); ++i) {
    const auto id = nodes[i].is_object() ? nodes[i].find("node_id") : nodes[i].end();
    if (id != nodes[i].end() && id->is_string()) draft.known.nodes.add(id->get_ref<const std::string&>(), i);
  }
  std::size_t edges = 0;
  for (node_index i = 0; i < nodes.size(); ++i) {
    braid::diagnostics problems;
    draft.out.nodes.push_back(read_node(nodes[i], i, {draft, problems}));
    problems.set_node(draft.out.nodes.back().node_id);
    draft.problems.append(std::move(problems));
    edges += draft.out.nodes.back().sources.size();
    if (edges > max_plan_edges) return report_size("too_many_edges", "edges", max_plan_edges, draft);
  }
}

void read_outputs(const json& outputs, draft& draft) {
  const auto report = [&draft](std::string pointer, std::string_view code, std::string message, std::string hint) {
    draft.problems.add({.code = std::string(code),
                        .pointer = std::move(pointer),
                        .message = std::move(message),
                        .hint = std::move(hint),
                        .node = {},
                        .source = {}});
  };
  if (outputs.empty()) report("/outputs", "no_outputs", "a plan must have at least one output", {});
  std::vector<bool> taken(draft.out.nodes.size(), false);
  for (std::size_t i = 0; i < outputs.size() && i < max_plan_nodes; ++i) {
    const std::string pointer = braid::json_pointer("/outputs", i);
    if (!outputs[i].is_string()) {
      report(pointer, "wrong_type", "an output must be the id of a node, not " + described(outputs[i]), {});
      continue;
    }
    const auto& name = outputs[i].get_ref<const std::string&>();
    const auto number = draft.known.nodes.find(name);
    if (!number) {
      report(pointer, "unknown_node", "there is no node " + quote_name(name), draft.known.nodes.hint(name));
    } else if (*number < taken.size() && taken[*number]) {
      report(pointer, "duplicate_value", quote_name(name) + " is listed twice", {});
    } else {
      if (*number < taken.size()) taken[*number] = true;
      draft.out.outputs.push_back(*number);
    }
  }
}

}  // namespace rankd::detail
