// src/graph/critical_path.cpp: the critical path of a run, followed backwards from the node that ended last.
#include <braid/base/config.hpp>
#include <braid/graph/shape.hpp>

#include <algorithm>
#include <optional>

namespace braid {
namespace {

using some_node = std::optional<node_index>;

/// Of each node, the predecessor that ended last, of those that have run: the others held nothing up.
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

}  // namespace braid
