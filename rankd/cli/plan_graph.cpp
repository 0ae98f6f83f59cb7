// rankd/cli/plan_graph.cpp: the four printers of a plan's graph.
#include <rankd/cli/plan_graph.hpp>

#include <rankd/cli/printable.hpp>
#include <rankd/cli/table.hpp>
#include <rankd/op/catalog.hpp>
#include <rankd/op/columns.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;

auto names_of(std::span<const std::uint32_t> keys, const registries& declared) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const std::uint32_t key_id : keys) names.push_back(declared.find_key(key_id)->name);
  return names;
}

/// The inputs come first, then an edge for each node_ref.
auto sources_of(const plan_node& node, const plan& of) -> std::vector<graph_source> {
  std::vector<graph_source> sources;
  for (const node_index input : node.inputs) sources.push_back({input, of.nodes[input].node_id, {}});
  for (const plan_param& param : node.params)
    if (param.kind == param_kind::node_ref)
      sources.push_back({param.index(), of.nodes[param.index()].node_id, param.name});
  return sources;
}

auto joined(std::span<const std::string> items, std::string_view none = {}) -> std::string {
  if (items.empty()) return std::string(none);
  std::string out;
  for (const std::string& item : items) out.append(out.empty() ? "" : ", ").append(item);
  return out;
}

auto sources_text(const std::vector<graph_source>& sources) -> std::string {
  std::vector<std::string> all;
  for (const graph_source& source : sources)
    all.push_back(source.param.empty() ? source.node : source.param + ": " + source.node);
  return joined(all, "-");
}

/// Fields that are no edges.
auto own_fields(const graph_node& node) -> std::vector<node_field> {
  std::vector<node_field> own;
  for (const node_field& field : node.fields)
    if (field.kind != param_kind::node_ref) own.push_back(field);
  return own;
}

auto node_json(const graph_node& node) -> ordered {
  ordered inputs = ordered::array();
  for (const graph_source& source : node.sources)
    if (source.param.empty()) inputs.push_back(source.node);
  ordered params = ordered::object();
  for (const node_field& field : node.fields) params[field.name] = field.text;
  ordered out = {
      {"node", node.id},         {"op", node.op},       {"doc", node.doc},       {"inputs", std::move(inputs)},
      {"params", params},        {"reads", node.reads}, {"writes", node.writes}, {"columns", node.columns},
      {"output", node.is_output}};
  if (!node.fused_with.empty()) out["fused_with"] = node.fused_with;
  if (!node.trace.empty()) out["trace"] = node.trace;
  if (!node.place.empty()) out["place"] = node.place;
  return out;
}

/// What a picture says of a node, line by line.
auto label_lines(const graph_node& node) -> std::vector<std::string> {
  std::vector<std::string> lines{node.id, node.op + ": " + std::string(node.doc)};
  for (const node_field& field : own_fields(node)) lines.push_back(field.name + ": " + field.text);
  if (!node.reads.empty()) lines.push_back("reads " + joined(node.reads));
  if (!node.writes.empty()) lines.push_back("writes " + joined(node.writes));
  if (!node.trace.empty()) lines.push_back("trace: " + node.trace);
  return lines;
}

auto budget_text(const plan_budget& budget) -> std::string {
  std::string out;
  for (const budget_line& line : lines_of(budget))
    out.append(out.empty() ? "" : ", ").append(line.name).append(" ").append(std::to_string(line.value));
  return out.empty() ? "unlimited" : out;
}

auto title_of(const plan_graph& graph) -> std::string {
  return graph.name + " (" + graph.digest.substr(0, 12) + "), budget: " + budget_text(graph.budget);
}

/// Text inside the quotes of Graphviz: control characters are escaped first, so that no line ends in it.
auto dot_text(std::string_view text) -> std::string {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Text inside the quotes of Mermaid, which knows entities between `#` and `;`.
auto mermaid_text(std::string_view text) -> std::string {
  constexpr std::string_view special = "\"#<>&;`\\";
  std::string out;
  for (const char c : printable(text))
    if (special.contains(c))
      out.append("#").append(std::to_string(static_cast<int>(c))).append(";");
    else
      out += c;
  return out;
}

}  // namespace

auto lines_of(const plan_budget& budget) -> std::vector<budget_line> {
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

auto graph_of(const opened_plan& of, const registries& declared) -> plan_graph {
  const plan& loaded = of.loaded;
  plan_graph graph{.name = loaded.plan_name,
                   .digest = of.bound.digest,
                   .budget = of.bound.budget,
                   .capabilities = loaded.capabilities_required,
                   .models = of.bound.models,
                   .outputs = {},
                   .nodes = {}};
  for (const node_index output : loaded.outputs) graph.outputs.push_back(loaded.nodes[output].node_id);
  const std::vector<node_columns> columns = columns_of(loaded, declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    const bound_node& bound = of.bound.nodes[at];
    graph.nodes.push_back({.id = node.node_id,
                           .op = node.op,
                           .doc = find_op(node.op)->doc,
                           .sources = sources_of(node, loaded),
                           .fields = fields_of(node, loaded, declared),
                           .reads = names_of(columns[at].reads, declared),
                           .writes = names_of(columns[at].writes, declared),
                           .columns = names_of(columns[at].has, declared),
                           .trace = node.trace.value_or(""),
                           .place = bound.place,
                           .fused_with = bound.fused_with ? loaded.nodes[*bound.fused_with].node_id : "",
                           .is_output = std::ranges::find(loaded.outputs, at) != loaded.outputs.end()});
  }
  return graph;
}

auto graph_tables(const plan_graph& graph) -> std::string {
  std::string out = "plan          " + printable(graph.name) + "\ndigest        " + graph.digest + "\nbudget        " +
                    budget_text(graph.budget) + "\noutputs       " + printable(joined(graph.outputs)) + "\n";
  if (!graph.capabilities.empty()) out += "capabilities  " + printable(joined(graph.capabilities)) + "\n";
  for (const model_digest& each : graph.models)
    out += "model         " + printable(each.name) + " " + each.sha256 + "\n";
  text_table nodes({{"node"}, {"operator"}, {"rows of"}, {"params"}, {"reads"}, {"writes"}});
  text_table ops({{"operator"}, {"meaning"}});
  std::vector<std::string> listed;
  for (const graph_node& node : graph.nodes) {
    nodes.add({node.id, node.op, sources_text(node.sources), to_text(own_fields(node)), joined(node.reads, "-"),
               joined(node.writes, "-")});
    if (std::ranges::find(listed, node.op) != listed.end()) continue;
    listed.push_back(node.op);
    ops.add({node.op, std::string(node.doc)});
  }
  return out + "\n" + nodes.to_text() + "\n" + ops.to_text();
}

auto graph_json(const plan_graph& graph) -> std::string {
  ordered budget = ordered::object();
  for (const budget_line& line : lines_of(graph.budget)) budget[line.name] = line.value;
  ordered models = ordered::array();
  for (const model_digest& each : graph.models) models.push_back({{"model", each.name}, {"sha256", each.sha256}});
  ordered nodes = ordered::array();
  for (const graph_node& node : graph.nodes) nodes.push_back(node_json(node));
  const ordered out = {{"plan", graph.name},          {"digest", graph.digest},
                       {"budget", std::move(budget)}, {"capabilities", graph.capabilities},
                       {"models", std::move(models)}, {"outputs", graph.outputs},
                       {"nodes", std::move(nodes)}};
  return out.dump() + "\n";
}

auto graph_dot(const plan_graph& graph) -> std::string {
  std::string out = "digraph \"" + dot_text(graph.name) + "\" {\n  label=\"" + dot_text(title_of(graph)) +
                    "\";\n  node [shape=box, fontname=\"monospace\"];\n";
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    out += "  n" + std::to_string(at) + " [label=\"";
    for (const std::string& line : label_lines(graph.nodes[at])) out += dot_text(line) + "\\l";
    out += graph.nodes[at].is_output ? "\", peripheries=2];\n" : "\"];\n";
  }
  for (std::size_t at = 0; at < graph.nodes.size(); ++at)
    for (const graph_source& source : graph.nodes[at].sources) {
      out += "  n" + std::to_string(source.from) + " -> n" + std::to_string(at);
      if (!source.param.empty()) out += " [label=\"" + dot_text(source.param) + "\", style=dashed]";
      out += ";\n";
    }
  return out + "}\n";
}

auto graph_mermaid(const plan_graph& graph) -> std::string {
  std::string out = "%% " + printable(title_of(graph)) + "\nflowchart TD\n";
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const graph_node& node = graph.nodes[at];
    std::string label;
    for (const std::string& line : label_lines(node)) label += (label.empty() ? "" : "<br/>") + mermaid_text(line);
    out +=
        "  n" + std::to_string(at) + (node.is_output ? "[[\"" : "[\"") + label + (node.is_output ? "\"]]\n" : "\"]\n");
  }
  for (std::size_t at = 0; at < graph.nodes.size(); ++at)
    for (const graph_source& source : graph.nodes[at].sources) {
      out += "  n" + std::to_string(source.from);
      out += source.param.empty() ? " --> " : " -. " + mermaid_text(source.param) + " .-> ";
      out += "n" + std::to_string(at) + "\n";
    }
  return out;
}

}  // namespace rankd
