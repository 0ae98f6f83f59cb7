// rankd/op/extra_columns.cpp: follows the rows of each node through the plan, to find out whether the extra column of
// the node is used.
#include <rankd/op/extra_columns.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/op/columns.hpp>
#include <rankd/op/operator.hpp>

#include <algorithm>
#include <string_view>

namespace rankd {
namespace {

using node_lists = std::vector<std::vector<node_index>>;

/// Returns a list for each node, which contains the nodes that read its rows as a source and the nodes that use it as
/// their fallback.
auto find_takers(const plan& loaded) -> node_lists {
  node_lists takers(loaded.nodes.size());
  for (node_index at = 0; at < takers.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    for (const node_index source : node.sources) takers[source].push_back(at);
    if (node.fallback && node.fallback->kind == fallback_kind::node) takers[node.fallback->node].push_back(at);
  }
  return takers;
}

/// Returns whether a node may pass on the rows of `find_rows`. A source returns rows of its own. It passes on rows of
/// another node only if it fails: those of its input or of its fallback node.
auto passes_on(const plan_node& node, node_index find_rows) -> bool {
  if (find_op(node.op)->change != row_change::dense_source) return true;
  if (!node.fallback || node.fallback->kind == fallback_kind::empty) return false;
  return node.fallback->kind == fallback_kind::input || node.fallback->node == find_rows;
}

/// Follows the rows of a node to all nodes that read these rows, and returns how those nodes use the extra column.
auto find_use(std::uint32_t key, node_index source, const plan& loaded, const node_lists& takers,
              const std::vector<node_columns>& columns) -> extra_use {
  extra_use use = extra_use::unused;
  std::vector<bool> seen(loaded.nodes.size(), false);
  std::vector<node_index> open{source};
  while (!open.empty()) {
    const node_index at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    if (std::ranges::find(loaded.outputs, at) != loaded.outputs.end()) use = extra_use::shown;
    for (const node_index taker : takers[at]) {
      const plan_node& node = loaded.nodes[taker];
      if (!find_op(node.op)->models.empty() || std::ranges::binary_search(columns[taker].reads, key))
        return extra_use::read;
      if (passes_on(node, at)) open.push_back(taker);
    }
  }
  return use;
}

}  // namespace

auto uses_of_extra_columns(const plan& loaded, const registries& declared) -> std::vector<extra_use> {
  std::vector<extra_use> out(loaded.nodes.size(), extra_use::read);
  const auto find_extra = [](const plan_node& node) { return find_op(node.op)->extra_column; };
  if (std::ranges::all_of(loaded.nodes, [&](const plan_node& node) { return find_extra(node).empty(); })) return out;
  // A capture outputs all columns of its rows.
  if (std::ranges::any_of(loaded.nodes, [](const plan_node& node) { return node.capture.has_value(); })) return out;
  const node_lists takers = find_takers(loaded);
  const std::vector<node_columns> columns = find_columns(loaded, declared);
  for (node_index at = 0; at < out.size(); ++at)
    if (const std::string_view extra = find_extra(loaded.nodes[at]); !extra.empty())
      out[at] = find_use(declared.find_key(extra)->key_id, at, loaded, takers, columns);
  return out;
}

}  // namespace rankd
