// rankd/engine/bound_plan.cpp: compiling the tables of a plan and binding its nodes.
#include <rankd/engine/bound_plan.hpp>

#include <rankd/op/catalog.hpp>

#include <braid/base/assert.hpp>

#include <utility>

namespace rankd {
namespace {

/// The programs of a table; nothing where one of them was refused.
template <typename Program, typename Tree, typename Compile>
auto compile_table(const std::vector<named_tree<Tree>>& table, Compile compile, braid::diagnostics& problems)
    -> std::vector<Program> {
  std::vector<Program> programs;
  programs.reserve(table.size());
  for (const named_tree<Tree>& entry : table) {
    auto program = compile(entry.tree);
    if (program) programs.push_back(std::move(*program));
    else problems.append(std::move(program.error()));
  }
  return programs;
}

auto edges_of(const plan& loaded) -> std::vector<braid::graph_edge> {
  std::vector<braid::graph_edge> edges;
  for (node_index to = 0; to < loaded.nodes.size(); ++to)
    for (const node_index from : loaded.nodes[to].sources) edges.push_back({from, to});
  return edges;
}

auto bind_node(const plan_node& node, const bind_context& with, braid::diagnostics& problems) -> bound_node {
  const op_entry* entry = find_op(node.op);
  BRAID_EXPECTS(entry != nullptr, "the loader of plans knows the same operators");
  auto op = entry->bind(node, with);
  if (!op) {
    op.error().set_node(node.node_id);
    problems.append(std::move(op.error()));
    return {};
  }
  return {.node_id = node.node_id,
          .op_name = node.op,
          .op = std::move(*op),
          .sources = node.sources,
          .change = entry->change};
}

}  // namespace

auto bind_plan(const plan& loaded, const registries& declared) -> braid::checked<bound_plan> {
  braid::diagnostics problems;
  const auto expr_compiler = [&declared](const expr_tree& tree) { return compile_expr(tree, declared); };
  const auto pred_compiler = [&declared](const pred_tree& tree) { return compile_pred(tree, declared); };
  std::vector<expr_program> exprs = compile_table<expr_program>(loaded.expr_table, expr_compiler, problems);
  std::vector<pred_program> preds = compile_table<pred_program>(loaded.pred_table, pred_compiler, problems);

  // A table with gaps still lets the nodes be looked at: what a gap would hold is never run.
  if (!loaded.expr_table.empty() && exprs.empty()) return std::unexpected(std::move(problems));
  if (!loaded.pred_table.empty() && preds.empty()) return std::unexpected(std::move(problems));
  while (exprs.size() < loaded.expr_table.size()) exprs.push_back(exprs.front());
  while (preds.size() < loaded.pred_table.size()) preds.push_back(preds.front());

  std::vector<bound_node> nodes;
  nodes.reserve(loaded.nodes.size());
  for (const plan_node& node : loaded.nodes) nodes.push_back(bind_node(node, {declared, exprs, preds}, problems));
  if (!problems.empty()) return std::unexpected(std::move(problems));

  auto shape = braid::graph_shape::make(nodes.size(), edges_of(loaded));
  BRAID_EXPECTS(shape, "the loader of plans refuses circles");
  return bound_plan{.name = loaded.plan_name,
                    .digest = loaded.digest,
                    .nodes = std::move(nodes),
                    .outputs = loaded.outputs,
                    .shape = std::move(*shape)};
}

}  // namespace rankd
