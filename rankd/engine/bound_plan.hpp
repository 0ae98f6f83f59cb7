// rankd/engine/bound_plan.hpp: a plan that is ready to run: a graph of checked operators, nothing left to look up.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/budgets.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/diagnostics.hpp>
#include <braid/graph/shape.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

struct bound_node {
  std::string node_id;
  std::string op_name;
  std::string place;  ///< where its author wrote it, as path:line:column, or empty
  std::unique_ptr<const bound_op> op;
  std::vector<node_index> sources;  ///< whose rows it takes, in order
  row_change change = row_change::dense_source;
  std::optional<node_index> fused_with;  ///< the other one of two nodes that do their work together
};

/// Immutable; shared by all requests. Threads: any.
struct bound_plan {
  std::string name;
  std::string digest;
  plan_budget budget;
  std::vector<bound_node> nodes;
  std::vector<node_index> outputs;
  braid::graph_shape shape;
  braid::graph_shape line;  ///< the same nodes one behind the other, as they stand in `shape.order()`
};

/// Looks up all that the plan names and checks it, once; requests to it have that budget.
/// Errors: every complaint at once: those of the operators' binders and of `compile_expr` and `compile_pred`.
auto bind_plan(const plan& loaded, const registries& declared, const plan_budget& budget = {})
    -> braid::checked<bound_plan>;

}  // namespace rankd
