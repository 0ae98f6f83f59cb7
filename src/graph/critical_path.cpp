// src/graph/critical_path.cpp: finds the critical path of a run, and the longest path from each node to the end of a
// graph.
#include <braid/base/config.hpp>
#include <braid/graph/shape.hpp>

#include <algorithm>
#include <optional>
#include <ranges>

namespace braid {
namespace {

using some_node = std::optional<node_index>;

/// Returns for each node the predecessor that ended last, because only that predecessor delayed the node. Predecessors
/// that did not run are ignored.
auto latest_predecessors(const graph_shape& shape, std::span<const node_times> times) -> std::vector<some_node> {
  std::vector<some_node> latest(shape.size());
  for (const node_index node : shape.order()) {
    if (!times[node].has_run()) continue;
    for (const node_index next : shape.successors(node))
      if (!latest[next] || times[node].ended > times[*latest[next]].ended) latest[next] = node;
  }
  return latest;
}

auto last_of_all(const graph_shape& shape, std::span<const node_times> times) -> some_node {
  some_node last;
  for (const node_index node : shape.order())
    if (times[node].has_run() && (!last || times[node].ended > times[*last].ended)) last = node;
  return last;
}

auto add_durations(duration a, duration b) -> duration { return b > duration::max() - a ? duration::max() : a + b; }

}  // namespace

auto critical_path(const graph_shape& shape, time_point begin, std::span<const node_times> times)
    -> std::vector<critical_step> {
  BRAID_EXPECTS(times.size() == shape.size(), "a critical path needs the times of all nodes of its graph");
  const std::vector<some_node> latest = latest_predecessors(shape, times);
  std::vector<critical_step> path;
  for (some_node at = last_of_all(shape, times); at; at = latest[*at]) {
    const time_point since = latest[*at] ? times[*latest[*at]].ended : begin;
    path.push_back({*at, times[*at].started - since, times[*at].run()});
  }
  std::ranges::reverse(path);
  return path;
}

auto remaining_paths(const graph_shape& shape, std::span<const duration> weights) -> std::vector<duration> {
  BRAID_EXPECTS(weights.size() == shape.size(), "the longest paths of a graph need a weight for each node");
  std::vector<duration> longest(shape.size());
  for (const node_index node : shape.order() | std::views::reverse) {
    BRAID_EXPECTS(weights[node] >= duration::zero(), "the weight of a node must not be negative");
    duration behind = duration::zero();
    for (const node_index next : shape.successors(node)) behind = std::max(behind, longest[next]);
    longest[node] = add_durations(weights[node], behind);
  }
  return longest;
}

auto remaining_paths(const graph_shape& shape, std::span<const node_times> times) -> std::vector<duration> {
  std::vector<duration> weights(times.size());
  std::ranges::transform(times, weights.begin(),
                         [](const node_times& each) { return each.has_run() ? each.run() : duration::zero(); });
  return remaining_paths(shape, weights);
}

}  // namespace braid
