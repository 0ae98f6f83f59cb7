// rankd/cli/output/plan_graph_text.hpp: prints the graph of a plan as tables, as a Graphviz digraph or as a Mermaid
// flowchart.
#pragma once

#include <rankd/engine/plans/plan_graph.hpp>

#include <string>

namespace rankd {

/// Returns the graph as tables for a terminal. Texts of the plan's author are escaped by `printable`.
[[nodiscard]] auto graph_tables(const plan_graph& graph) -> std::string;

/// These functions return the graph as a Graphviz digraph and as a Mermaid flowchart. Nodes that are outputs are drawn
/// with a second border. If a param of a node names another node, the edge is dashed and labelled with the name of the
/// param.
[[nodiscard]] auto graph_dot(const plan_graph& graph) -> std::string;
[[nodiscard]] auto graph_mermaid(const plan_graph& graph) -> std::string;

}  // namespace rankd
