// rankd/engine/plans/plan_graph.cpp: resolves the numbers of a plan to names, and writes its JSON.
#include <rankd/engine/plans/plan_graph.hpp>

#include <rankd/op/catalog.hpp>
#include <rankd/op/columns.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;

auto key_names(std::span<const std::uint32_t> keys, const registries& declared) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const std::uint32_t key_id : keys) names.push_back(declared.find_key(key_id)->name);
  return names;
}

/// The inputs come first, then an edge for each node_ref.
auto find_sources(const plan_node& node, const plan& plan) -> std::vector<graph_source> {
  std::vector<graph_source> sources;
  for (const node_index input : node.inputs) sources.push_back({input, plan.nodes[input].node_id, {}});
  for (const plan_param& param : node.params)
    if (param.kind == param_kind::node_ref)
      sources.push_back({param.index(), plan.nodes[param.index()].node_id, param.name});
  return sources;
}

auto make_json(const graph_node& node) -> ordered {
  ordered inputs = ordered::array();
  ordered refs = ordered::object();
  for (const graph_source& source : node.sources)
    if (source.param.empty())
      inputs.push_back(source.node);
    else
      refs[source.param] = source.node;
  ordered params = ordered::object();
  for (const node_field& field : node.fields) params[field.name] = field.text;
  ordered out = {
      {"node", node.id},         {"op", node.op},       {"doc", node.doc},       {"inputs", std::move(inputs)},
      {"params", params},        {"reads", node.reads}, {"writes", node.writes}, {"columns", node.columns},
      {"output", node.is_output}};
  if (!refs.empty()) out["refs"] = std::move(refs);
  if (!node.fused_with.empty()) out["fused_with"] = node.fused_with;
  if (!node.trace.empty()) out["trace"] = node.trace;
  if (!node.place.empty()) out["place"] = node.place;
  return out;
}

auto make_json(const scalar& value) -> ordered {
  return std::visit(
      [](const auto& each) -> ordered {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, std::monostate>)
          return nullptr;
        else
          return each;
      },
      value);
}

auto make_json(const graph_param& param) -> ordered {
  const param_entry& entry = *param.declared;
  ordered out = {{"param", entry.name},
                 {"type", to_string(entry.type)},
                 {"source", entry.source == param_source::context ? "context" : "param_overrides"},
                 {"required", entry.required},
                 {"default", make_json(entry.default_value)},
                 {"doc", entry.doc}};
  if (param.range) {
    out["min"] = make_json(param.range->min);
    out["max"] = make_json(param.range->max);
  }
  return out;
}

auto make_json(const fragment_use& use, const plan_graph& of) -> ordered {
  ordered nodes = ordered::array();
  for (const node_index node : use.nodes) nodes.push_back(of.nodes[node].id);
  return {{"use", use.id},        {"fragment", use.fragment},  {"version", use.version},
          {"sha256", use.sha256}, {"nodes", std::move(nodes)}, {"result", of.nodes[use.result].id}};
}

auto make_json(const graph_request& request) -> ordered {
  ordered params = ordered::array();
  for (const graph_param& each : request.params) params.push_back(make_json(each));
  ordered out = {{"user_id", request.user}};
  if (request.id_type == value_type::string) out["id_type"] = to_string(request.id_type);
  if (request.candidates) out["candidates"] = request.candidate_keys;
  out["params"] = std::move(params);
  return out;
}

/// Lists the fields that a request can set: a param that requests may not set has its default, whatever the request
/// says.
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

auto make_graph(const bound_plan& of, const registries& declared) -> plan_graph {
  const plan& loaded = *of.stated;
  plan_graph graph{.name = loaded.plan_name,
                   .digest = of.digest,
                   .budget = of.budget,
                   .capabilities = loaded.capabilities_required,
                   .models = of.models,
                   .outputs = {},
                   .request = make_request(loaded, find_needs(loaded, declared), declared),
                   .nodes = {},
                   .fragments = loaded.fragments,
                   .operators = of.operators,
                   .vectors = of.vectors};
  for (const node_index output : loaded.outputs) graph.outputs.push_back(loaded.nodes[output].node_id);
  const std::vector<node_columns> columns = find_columns(loaded, declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    const bound_node& bound = of.nodes[at];
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
  ordered budget = ordered::object();
  for (const budget_line& line : list_lines(graph.budget)) budget[line.name] = line.value;
  ordered models = ordered::array();
  for (const model_digest& each : graph.models) models.push_back({{"model", each.name}, {"sha256", each.sha256}});
  ordered nodes = ordered::array();
  for (const graph_node& node : graph.nodes) nodes.push_back(make_json(node));
  ordered out = {{"plan", graph.name},
                 {"digest", graph.digest},
                 {"budget", std::move(budget)},
                 {"capabilities", graph.capabilities},
                 {"models", std::move(models)},
                 {"outputs", graph.outputs},
                 {"request", make_json(graph.request)},
                 {"nodes", std::move(nodes)}};
  for (const operator_digest& each : graph.operators)
    out["operators"].push_back({{"library", each.library}, {"sha256", each.sha256}});
  for (const model_digest& each : graph.vectors)
    out["vectors"].push_back({{"endpoint", each.name}, {"digest", each.sha256}});
  for (const fragment_use& use : graph.fragments) out["fragments"].push_back(make_json(use, graph));
  return out.dump() + "\n";
}

}  // namespace rankd
