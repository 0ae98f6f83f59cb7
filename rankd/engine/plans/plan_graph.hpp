// rankd/engine/plans/plan_graph.hpp: the graph of a plan as data and as JSON, with names instead of numbers.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/plan/node_fields.hpp>
#include <rankd/registry/budgets.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// An edge into a node. `param` is the option that creates the edge, or empty for an input.
struct graph_source {
  node_index from = 0;
  std::string node;  ///< the id of that node
  std::string param;
};

/// A node of a plan, with everything that is known before the node runs.
struct graph_node {
  std::string id;
  std::string op;
  std::string_view doc;  ///< of the operator
  std::vector<graph_source> sources;
  std::vector<node_field> fields;
  std::vector<std::string> reads;    ///< columns that params and formulas name
  std::vector<std::string> writes;   ///< columns that it adds to its rows
  std::vector<std::string> columns;  ///< columns that its rows may have
  std::string trace;
  std::string place;       ///< in the author's files, or empty
  std::string fused_with;  ///< the node that this node is fused with, or empty
  bool is_output = false;
};

/// A param that the plan reads and that a request may set.
struct graph_param {
  const param_entry* declared = nullptr;
  std::optional<param_range> range;  ///< the range of values that options of nodes accept, if the param sets any option
};

/// The fields that a request to the plan may contain.
struct graph_request {
  bool user = false;  ///< whether a node reads `user_id`
  value_type id_type = value_type::integer;
  bool candidates = false;  ///< whether a node reads the candidates of the request
  std::vector<std::string> candidate_keys;
  std::vector<graph_param> params;
};

/// A plan as data, with names instead of numbers.
struct plan_graph {
  std::string name;
  std::string digest;
  plan_budget budget;
  std::vector<std::string> capabilities;
  std::vector<model_digest> models;
  std::vector<std::string> outputs;
  graph_request request;
  std::vector<graph_node> nodes;  ///< in the order of the artifact
  std::vector<fragment_use> fragments = {};
  std::vector<operator_digest> operators = {};  ///< libraries of the project's own
  std::vector<model_digest> vectors = {};       ///< files of vectors, by the ids of their endpoints
};

/// Returns the graph of a plan. Requires the registries that the plan was bound with. They must outlive the result.
/// Cost: that of find_columns, plus a copy of all names.
[[nodiscard]] auto make_graph(const bound_plan& source, const registries& declared) -> plan_graph;

/// A field of a budget, with its name in rankd.toml. `list_lines` returns the fields that are set, in the order of
/// rankd.toml.
struct budget_line {
  std::string name;
  std::uint64_t value = 0;
};
[[nodiscard]] auto list_lines(const plan_budget& budget) -> std::vector<budget_line>;

/// Returns the graph as one line of JSON with a line feed. `rankd plans --json NAME` and `GET /v1/plans/NAME?form=full`
/// return this text.
[[nodiscard]] auto graph_json(const plan_graph& graph) -> std::string;

}  // namespace rankd
