// rankd/engine/bound_plan.cpp: compiling the tables of a plan and binding its nodes.
#include <rankd/engine/bound_plan.hpp>

#include <rankd/op/catalog.hpp>
#include <rankd/plan/source_place.hpp>

#include <braid/base/assert.hpp>

#include <utility>

namespace rankd {
namespace {

auto compile(const expr_tree& tree, const registries& declared) { return compile_expr(tree, declared); }
auto compile(const pred_tree& tree, const registries& declared) { return compile_pred(tree, declared); }

/// The programs of a table. A tree that is refused leaves a program without code in its place, so that the nodes can
/// be looked at all the same; it is never run.
template <typename Program, typename Tree>
auto compile_table(const std::vector<named_tree<Tree>>& table, const registries& declared, braid::diagnostics& problems)
    -> std::vector<Program> {
  std::vector<Program> programs;
  programs.reserve(table.size());
  for (const named_tree<Tree>& entry : table) {
    auto program = compile(entry.tree, declared);
    if (!program) problems.append(std::move(program.error()));
    programs.push_back(program ? std::move(*program) : Program(nullptr));
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
          .place = {},
          .op = std::move(*op),
          .sources = node.sources,
          .change = entry->change};
}

}  // namespace

auto bind_plan(const plan& loaded, const registries& declared) -> braid::checked<bound_plan> {
  braid::diagnostics problems;
  const std::vector<expr_program> exprs = compile_table<expr_program>(loaded.expr_table, declared, problems);
  const std::vector<pred_program> preds = compile_table<pred_program>(loaded.pred_table, declared, problems);

  std::vector<bound_node> nodes;
  nodes.reserve(loaded.nodes.size());
  for (const plan_node& node : loaded.nodes) {
    nodes.push_back(bind_node(node, {declared, exprs, preds}, problems));
    nodes.back().place = source_place(loaded, node.pointer);
  }
  if (!problems.empty()) return std::unexpected(with_places(std::move(problems), loaded));

  auto shape = braid::graph_shape::make(nodes.size(), edges_of(loaded));
  BRAID_EXPECTS(shape, "the loader of plans refuses circles");
  return bound_plan{.name = loaded.plan_name,
                    .digest = loaded.digest,
                    .nodes = std::move(nodes),
                    .outputs = loaded.outputs,
                    .shape = std::move(*shape)};
}

}  // namespace rankd
