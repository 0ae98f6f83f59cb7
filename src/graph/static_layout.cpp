// src/graph/static_layout.cpp: computes the order of the nodes of a static graph, by simulating a run of one worker.
#include "static_layout.hpp"

#include <algorithm>
#include <limits>

namespace braid::detail {
namespace {

constexpr node_index no_node = std::numeric_limits<node_index>::max();

/// Returns for each node the index of its first successor in the list of all successors. The result has one more entry
/// than there are nodes.
auto find_begins(std::size_t nodes, std::span<const graph_shape::edge> edges) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> begins(nodes + 1, 0);
  for (const auto [from, to] : edges) ++begins[from + 1];
  for (std::size_t node = 0; node < nodes; ++node) begins[node + 1] += begins[node];
  return begins;
}

/// Returns the successors of all nodes in one list. The successors of a node are in the order of the given edges.
auto find_targets(std::span<const graph_shape::edge> edges, const std::vector<std::uint32_t>& begins)
    -> std::vector<node_index> {
  std::vector<node_index> targets(edges.size());
  std::vector<std::uint32_t> free(begins.begin(), begins.end() - 1);
  for (const auto [from, to] : edges) targets[free[from]++] = to;
  return targets;
}

}  // namespace

auto repeated_edges(std::size_t nodes, std::span<const graph_shape::edge> edges) -> std::vector<graph_shape::edge> {
  const std::vector<std::uint32_t> begins = find_begins(nodes, edges);
  const std::vector<node_index> targets = find_targets(edges, begins);
  std::vector<node_index> seen_from(nodes, no_node);
  std::vector<graph_shape::edge> repeated;
  for (node_index from = 0; from < nodes; ++from) {
    for (std::uint32_t at = begins[from]; at != begins[from + 1]; ++at) {
      if (seen_from[targets[at]] == from) repeated.push_back({from, targets[at]});
      seen_from[targets[at]] = from;
    }
  }
  return repeated;
}

static_layout::static_layout(std::size_t nodes, std::span<const graph_shape::edge> edges) : given_(nodes) {
  if (nodes == 0) return;
  collect(edges);
  for (node_index node = 0; node < given_; ++node) {
    const list narrow = narrowed(lists_[node]);
    lists_[node] = narrow;
  }
  const node_index entry = find_entry();
  if (entry != no_node) put_in_order(entry);
}

void static_layout::collect(std::span<const graph_shape::edge> edges) {
  const std::vector<std::uint32_t> begins = find_begins(given_, edges);
  targets_ = find_targets(edges, begins);
  predecessors_.assign(given_, 0);
  for (const auto [from, to] : edges) ++predecessors_[to];
  lists_.reserve(given_);
  for (std::size_t node = 0; node < given_; ++node) lists_.push_back({begins[node], begins[node + 1] - begins[node]});
}

auto static_layout::add_hidden(list successors) -> node_index {
  lists_.push_back(successors);
  predecessors_.push_back(1);
  return static_cast<node_index>(lists_.size() - 1);
}

/// Replaces a successor list that is too long by a short list of hidden relay nodes, each of which has a part of the
/// successors.
auto static_layout::narrowed(list wide) -> list {
  while (wide.count > max_successors) {
    const std::uint32_t parts = (wide.count + max_successors - 1) / max_successors;
    const auto find_begin = [&](std::uint64_t part) { return static_cast<std::uint32_t>(wide.count * part / parts); };
    const auto first = static_cast<std::uint32_t>(targets_.size());
    for (std::uint32_t part = 0; part < parts; ++part)
      targets_.push_back(add_hidden({wide.first + find_begin(part), find_begin(part + 1) - find_begin(part)}));
    wide = {first, parts};
  }
  return wide;
}

/// Returns the only node without predecessors, or a hidden node that precedes all of them. Returns `no_node` if every
/// node has a predecessor.
auto static_layout::find_entry() -> node_index {
  const auto first = static_cast<std::uint32_t>(targets_.size());
  for (node_index node = 0; node < given_; ++node)
    if (predecessors_[node] == 0) targets_.push_back(node);
  const list sources{first, static_cast<std::uint32_t>(targets_.size() - first)};
  if (sources.count == 0) return no_node;
  if (sources.count == 1) return targets_[first];
  for (std::uint32_t at = 0; at < sources.count; ++at) predecessors_[targets_[first + at]] = 1;
  const node_index entry = add_hidden(narrowed(sources));
  predecessors_[entry] = 0;
  return entry;
}

/// Computes the order in which `walk::go` in static_graph.cpp runs the nodes: the first ready successor runs next; if
/// no successor is ready, the newest of the other ready nodes runs next.
void static_layout::put_in_order(node_index entry) {
  order_.reserve(lists_.size());
  std::vector<std::uint32_t> waiting_for = predecessors_;
  std::vector<node_index> ready{entry};
  while (!ready.empty()) {
    node_index next = ready.back();
    ready.pop_back();
    while (next != no_node) {
      order_.push_back(next);
      node_index first = no_node;
      for (const node_index target : successors(next)) {
        if (--waiting_for[target] != 0) continue;
        if (first == no_node)
          first = target;
        else
          ready.push_back(target);
      }
      next = first;
    }
  }
}

/// Returns the nodes of a cycle. Each node that the simulated run did not reach has a predecessor that was not reached
/// either. So a path from predecessor to predecessor must come back to a node that is already on the path.
auto static_layout::cycle() const -> std::vector<node_index> {
  std::vector<bool> reached(lists_.size(), false);
  for (const node_index node : order_) reached[node] = true;
  std::vector<node_index> before(lists_.size(), no_node);
  node_index at = no_node;
  for (node_index node = 0; node < lists_.size(); ++node) {
    if (reached[node]) continue;
    for (const node_index target : successors(node)) before[target] = at = node;
  }
  std::vector<bool> passed(lists_.size(), false);
  for (; !passed[at]; at = before[at]) passed[at] = true;
  std::vector<node_index> round;
  for (const node_index end = at; round.empty() || at != end; at = before[at]) round.push_back(at);
  std::ranges::reverse(round);
  std::erase_if(round, [this](node_index node) { return !is_given(node); });
  return round;
}

}  // namespace braid::detail
