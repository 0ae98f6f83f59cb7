// rankd/cli/output/plan_graph_text.cpp: prints a plan's graph as tables, or in the languages of Graphviz and Mermaid.
#include <rankd/cli/output/plan_graph_text.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace rankd {
namespace {

auto sources_text(const std::vector<graph_source>& sources) -> std::string {
  std::vector<std::string> all;
  for (const graph_source& source : sources)
    all.push_back(source.param.empty() ? source.node : source.param + ": " + source.node);
  return joined(all, "-");
}

/// Returns the fields of a node, except the fields that are drawn as edges.
auto own_fields(const graph_node& node) -> std::vector<node_field> {
  std::vector<node_field> own;
  for (const node_field& field : node.fields)
    if (field.kind != param_kind::node_ref) own.push_back(field);
  return own;
}

/// Returns the lines of a node's label in a drawing.
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
  for (const budget_line& line : list_lines(budget))
    out.append(out.empty() ? "" : ", ").append(line.name).append(" ").append(std::to_string(line.value));
  return out.empty() ? "unlimited" : out;
}

auto make_title(const plan_graph& graph) -> std::string {
  return graph.name + " (" + graph.digest.substr(0, 12) + "), budget: " + budget_text(graph.budget);
}

/// Escapes a text for a quoted string in Graphviz. Control characters are escaped first, so that no line ends within
/// the text.
auto dot_text(std::string_view text) -> std::string {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Escapes a text for a quoted string in Mermaid. In Mermaid, an entity is written between `#` and `;`.
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

auto graph_tables(const plan_graph& graph) -> std::string {
  std::string out = "plan          " + printable(graph.name) + "\ndigest        " + graph.digest + "\nbudget        " +
                    budget_text(graph.budget) + "\noutputs       " + printable(joined(graph.outputs)) + "\n";
  if (!graph.capabilities.empty()) out += "capabilities  " + printable(joined(graph.capabilities)) + "\n";
  for (const model_digest& each : graph.models)
    out += "model         " + printable(each.name) + " " + each.sha256 + "\n";
  for (const operator_digest& each : graph.operators)
    out += "operators     " + printable(each.library) + " " + each.sha256 + "\n";
  for (const model_digest& each : graph.vectors)
    out += "vectors       " + printable(each.name) + " " + each.sha256 + "\n";
  for (const fragment_use& use : graph.fragments)
    out +=
        "fragment      " + printable(use.id + ": " + make_title(use)) + ", " + counted(use.nodes.size(), "node") + "\n";
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

auto graph_dot(const plan_graph& graph) -> std::string {
  std::string out = "digraph \"" + dot_text(graph.name) + "\" {\n  label=\"" + dot_text(make_title(graph)) +
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
  std::string out = "%% " + printable(make_title(graph)) + "\nflowchart TD\n";
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
