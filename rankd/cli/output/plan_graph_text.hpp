// rankd/cli/output/plan_graph_text.hpp: the graph of a plan printed as tables, in Graphviz and in Mermaid.
#pragma once

#include <rankd/engine/plans/plan_graph.hpp>

#include <string>

namespace rankd {

/// Returns text for a terminal. Text of the plan's author is escaped, as by `printable`.
[[nodiscard]] auto graph_tables(const plan_graph& graph) -> std::string;

/// Returns a digraph in the language of Graphviz, or a flowchart in that of Mermaid. Outputs have a second border; an
/// edge that a param makes is dashed and has its name.
[[nodiscard]] auto graph_dot(const plan_graph& graph) -> std::string;
[[nodiscard]] auto graph_mermaid(const plan_graph& graph) -> std::string;

}  // namespace rankd
