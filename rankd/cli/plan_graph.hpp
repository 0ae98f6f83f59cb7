// rankd/cli/plan_graph.hpp: the graph of a plan as data, and printed as tables, JSON, Graphviz or Mermaid.
#pragma once

#include <rankd/cli/workspace.hpp>
#include <rankd/plan/node_fields.hpp>
#include <rankd/registry/budgets.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// An edge into a node; `param` names the param that makes it, and is empty for an input.
struct graph_source {
  node_index from = 0;
  std::string node;  ///< the id of that node
  std::string param;
};

/// A node of a plan with all that is known of it before it runs, by name.
struct graph_node {
  std::string id;
  std::string op;
  std::string_view doc;  ///< of the operator
  std::vector<graph_source> sources;
  std::vector<node_field> fields;
  std::vector<std::string> reads;    ///< columns that params and formulas name
  std::vector<std::string> writes;   ///< columns that its rows have by it
  std::vector<std::string> columns;  ///< that its rows may have
  std::string trace;
  std::string place;       ///< in the author's files, or empty
  std::string fused_with;  ///< the node that it does its work together with, or empty
  bool is_output = false;
};

/// A plan as data, with names in place of numbers.
struct plan_graph {
  std::string name;
  std::string digest;
  plan_budget budget;
  std::vector<std::string> capabilities;
  std::vector<model_digest> models;
  std::vector<std::string> outputs;
  std::vector<graph_node> nodes;  ///< in the order of the artifact
};

[[nodiscard]] auto graph_of(const opened_plan& of, const registries& declared) -> plan_graph;

/// The fields that the budget states, in the order and with the names of rankd.toml.
struct budget_line {
  std::string name;
  std::uint64_t value = 0;
};
[[nodiscard]] auto lines_of(const plan_budget& budget) -> std::vector<budget_line>;

/// For a terminal. Text of the plan's author is escaped, as by `printable`.
[[nodiscard]] auto graph_tables(const plan_graph& graph) -> std::string;

/// One object on one line.
[[nodiscard]] auto graph_json(const plan_graph& graph) -> std::string;

/// A digraph in the language of Graphviz, and a flowchart in that of Mermaid. Outputs have a second border; an edge
/// that a param makes is dashed and has its name.
[[nodiscard]] auto graph_dot(const plan_graph& graph) -> std::string;
[[nodiscard]] auto graph_mermaid(const plan_graph& graph) -> std::string;

}  // namespace rankd
