// src/graph/shape.cpp: converts a list of edges to compressed sparse rows, and computes a topological order (Kahn).
#include <braid/graph/shape.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace braid {

auto graph_shape::make(std::size_t nodes, std::span<const graph_shape::edge> edges) -> result<graph_shape> {
  constexpr std::size_t max_count = std::numeric_limits<node_index>::max();
  if (nodes > max_count || edges.size() > max_count) return fail(errc::invalid_argument);
  graph_shape shape;
  shape.first_.assign(nodes + 1, 0);
  shape.predecessors_.assign(nodes, 0);
  for (const auto [from, to] : edges) {
    if (from >= nodes || to >= nodes) return fail(errc::invalid_argument);
    ++shape.first_[from + 1];
    ++shape.predecessors_[to];
  }
  for (std::size_t node = 0; node < nodes; ++node) shape.first_[node + 1] += shape.first_[node];

  shape.targets_.resize(edges.size());
  std::vector<std::uint32_t> free(shape.first_.begin(), shape.first_.end() - 1);
  for (const auto [from, to] : edges) shape.targets_[free[from]++] = to;

  if (auto sorted = shape.sort(); !sorted) return fail(sorted.error());
  return shape;
}

auto graph_shape::sort() -> result<void> {
  std::vector<std::uint32_t> waiting_for = predecessors_;
  std::priority_queue<node_index, std::vector<node_index>, std::greater<>> ready;
  for (node_index node = 0; node < size(); ++node)
    if (waiting_for[node] == 0) ready.push(node);

  position_.resize(size());
  order_.reserve(size());
  while (!ready.empty()) {
    const node_index node = ready.top();
    ready.pop();
    position_[node] = static_cast<std::uint32_t>(order_.size());
    order_.push_back(node);
    for (const node_index next : successors(node))
      if (--waiting_for[next] == 0) ready.push(next);
  }
  if (order_.size() != size()) return fail(errc::cycle);
  return {};
}

}  // namespace braid
