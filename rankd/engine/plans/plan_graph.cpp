// rankd/engine/plans/plan_graph.cpp: writes a plan as JSON, with names in place of the numbers that the plan contains.
#include <rankd/engine/plans/plan_graph.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/columns.hpp>

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

namespace rankd {
namespace {

auto key_names(std::span<const std::uint32_t> keys, const registries& declared) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const std::uint32_t key_id : keys) names.push_back(declared.find_key(key_id)->name);
  return names;
}

/// Returns the edges into a node: first the edges from its inputs, and then the edges from the nodes that its options
/// name.
auto find_sources(const plan_node& node, const plan& plan) -> std::vector<graph_source> {
  std::vector<graph_source> sources;
  for (const node_index input : node.inputs) sources.push_back({input, plan.nodes[input].node_id, {}});
  for (const plan_param& param : node.params)
    if (param.kind == param_kind::node_ref)
      sources.push_back({param.index(), plan.nodes[param.index()].node_id, param.name});
  return sources;
}

void append_node(std::string& out, const graph_node& node) {
  const auto is_input = [](const graph_source& source) { return source.param.empty(); };
  const auto has_refs = [&] { return !std::ranges::all_of(node.sources, is_input); };
  out += '{';
  append_json_member(out, "node", node.id);
  append_json_member(out, "op", node.op);
  append_json_member(out, "doc", node.doc);
  append_json_name(out, "inputs");
  append_json_strings(out, node.sources | std::views::filter(is_input) | std::views::transform(&graph_source::node));
  append_json_name(out, "params");
  out += '{';
  for (const node_field& field : node.fields) append_json_member(out, field.name, field.text);
  out += '}';
  append_json_name(out, "reads");
  append_json_strings(out, node.reads);
  append_json_name(out, "writes");
  append_json_strings(out, node.writes);
  append_json_name(out, "columns");
  append_json_strings(out, node.columns);
  append_json_flag(out, "output", node.is_output);
  if (has_refs()) {
    append_json_name(out, "refs");
    out += '{';
    for (const graph_source& source : node.sources)
      if (!is_input(source)) append_json_member(out, source.param, source.node);
    out += '}';
  }
  append_json_unless_empty(out, "fused_with", node.fused_with);
  append_json_unless_empty(out, "trace", node.trace);
  append_json_unless_empty(out, "place", node.place);
  out += '}';
}

void append_value(std::string& out, std::string_view name, const scalar& value) {
  append_json_name(out, name);
  append_json_scalar(out, value);
}

void append_param(std::string& out, const graph_param& param) {
  const param_entry& entry = *param.declared;
  out += '{';
  append_json_member(out, "param", entry.name);
  append_json_member(out, "type", to_string(entry.type));
  append_json_member(out, "source", entry.source == param_source::context ? "context" : "param_overrides");
  append_json_flag(out, "required", entry.required);
  append_value(out, "default", entry.default_value);
  append_json_member(out, "doc", entry.doc);
  if (param.range) {
    append_value(out, "min", param.range->min);
    append_value(out, "max", param.range->max);
  }
  out += '}';
}

void append_use(std::string& out, const fragment_use& use, const plan_graph& graph) {
  out += '{';
  append_json_member(out, "use", use.id);
  append_json_member(out, "fragment", use.fragment);
  append_json_member(out, "version", use.version);
  append_json_member(out, "sha256", use.sha256);
  append_json_name(out, "nodes");
  append_json_list(out, use.nodes,
                   [&graph](std::string& to, node_index node) { append_json_string(to, graph.nodes[node].id); });
  append_json_member(out, "result", graph.nodes[use.result].id);
  out += '}';
}

void append_request(std::string& out, const graph_request& request) {
  out += '{';
  append_json_flag(out, "user_id", request.user);
  if (request.id_type == value_type::string) append_json_member(out, "id_type", to_string(request.id_type));
  if (request.candidates) {
    append_json_name(out, "candidates");
    append_json_strings(out, request.candidate_keys);
  }
  append_json_name(out, "params");
  append_json_list(out, request.params, append_param);
  out += '}';
}

/// Appends an array of objects, each with a name and a digest.
template <typename Items, typename Name>
void append_digests(std::string& out, std::string_view member, const Items& items, std::string_view name_field,
                    Name name, std::string_view digest_field) {
  append_json_name(out, member);
  append_json_list(out, items, [&](std::string& to, const auto& each) {
    to += '{';
    append_json_member(to, name_field, each.*name);
    append_json_member(to, digest_field, each.sha256);
    to += '}';
  });
}

/// Describes the fields of a request. Params that requests must not set are left out, because they always have their
/// default value.
auto make_request(const plan& loaded, const plan_needs& needs, const registries& declared) -> graph_request {
  graph_request out{.user = needs.user,
                    .id_type = declared.id_type(),
                    .candidates = needs.takes_candidates,
                    .candidate_keys = {},
                    .params = {}};
  for (const key_entry* key : needs.candidate_keys) out.candidate_keys.push_back(key->name);
  for (const param_entry* param : params_read_by(loaded, declared)) {
    if (param->source == param_source::overrides && !param->allow_write) continue;
    const auto range = std::ranges::find(needs.ranges, declared.index_of(*param), &param_range::param);
    out.params.push_back({param, range == needs.ranges.end() ? std::nullopt : std::optional(*range)});
  }
  return out;
}

}  // namespace

auto list_lines(const plan_budget& budget) -> std::vector<budget_line> {
  std::vector<budget_line> lines;
  const auto add = [&lines](std::string name, const std::optional<std::uint64_t>& value) {
    if (value) lines.push_back({std::move(name), *value});
  };
  const auto milliseconds = [](const auto& time) {
    return time ? std::optional<std::uint64_t>(time->count()) : std::nullopt;
  };
  add("rows", budget.rows);
  add("bytes", budget.bytes);
  add("deadline_ms", milliseconds(budget.max_deadline));
  add("default_deadline_ms", milliseconds(budget.default_deadline));
  add("in_flight", budget.in_flight);
  return lines;
}

auto make_graph(const bound_plan& source, const registries& declared) -> plan_graph {
  const plan& loaded = *source.stated;
  plan_graph graph{.name = loaded.plan_name,
                   .digest = source.digest,
                   .budget = source.budget,
                   .capabilities = loaded.capabilities_required,
                   .models = source.models,
                   .outputs = {},
                   .request = make_request(loaded, find_needs(loaded, declared), declared),
                   .nodes = {},
                   .fragments = loaded.fragments,
                   .operators = source.operators,
                   .vectors = source.vectors};
  for (const node_index output : loaded.outputs) graph.outputs.push_back(loaded.nodes[output].node_id);
  const std::vector<node_columns> columns = find_columns(loaded, declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    const bound_node& bound = source.nodes[at];
    graph.nodes.push_back({.id = node.node_id,
                           .op = node.op,
                           .doc = find_op(node.op)->doc,
                           .sources = find_sources(node, loaded),
                           .fields = list_fields(node, loaded, declared),
                           .reads = key_names(columns[at].reads, declared),
                           .writes = key_names(columns[at].writes, declared),
                           .columns = key_names(columns[at].has, declared),
                           .trace = node.trace.value_or(""),
                           .place = bound.place,
                           .fused_with = bound.fused_with ? loaded.nodes[*bound.fused_with].node_id : "",
                           .is_output = std::ranges::find(loaded.outputs, at) != loaded.outputs.end()});
  }
  return graph;
}

auto graph_json(const plan_graph& graph) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan", graph.name);
  append_json_member(out, "digest", graph.digest);
  append_json_name(out, "budget");
  out += '{';
  for (const budget_line& line : list_lines(graph.budget)) append_json_count(out, line.name, line.value);
  out += '}';
  append_json_name(out, "capabilities");
  append_json_strings(out, graph.capabilities);
  append_digests(out, "models", graph.models, "model", &model_digest::name, "sha256");
  append_json_name(out, "outputs");
  append_json_strings(out, graph.outputs);
  append_json_name(out, "request");
  append_request(out, graph.request);
  append_json_name(out, "nodes");
  append_json_list(out, graph.nodes, append_node);
  if (!graph.operators.empty())
    append_digests(out, "operators", graph.operators, "library", &operator_digest::library, "sha256");
  if (!graph.vectors.empty()) append_digests(out, "vectors", graph.vectors, "endpoint", &model_digest::name, "digest");
  if (!graph.fragments.empty()) {
    append_json_name(out, "fragments");
    append_json_list(out, graph.fragments,
                     [&graph](std::string& to, const fragment_use& use) { append_use(to, use, graph); });
  }
  return out += "}\n";
}

}  // namespace rankd
