// rankd/engine/plans/route_fallbacks.cpp: finds the nodes of a route that run only if other nodes fail.
#include <rankd/engine/detail/route_fallbacks.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace rankd::detail {
namespace {

class route_linker {
 public:
  route_linker(const plan& loaded, const std::vector<bool>& bypassed, const node_lists& sources)
      : nodes_(loaded.nodes), outputs_(loaded.outputs), bypassed_(bypassed), sources_(sources) {}

  /// Computes the result in passes. If a node would have to wait for itself, the next pass makes it run
  /// unconditionally. The last pass finds no such node.
  auto run() && -> route_fallbacks {
    std::vector<node_index> wanted = outputs_;
    do {
      out_ = {node_lists(nodes_.size()), node_lists(nodes_.size())};
      runs_anyway_ = reached(wanted, sources_);
      for (node_index at = 0; at < nodes_.size(); ++at)
        if (stands_in(at)) wake(at);
      for (node_index at = 0; at < nodes_.size(); ++at) wait_for_others(at);
    } while (add_circular(wanted));
    return std::move(out_);
  }

 private:
  [[nodiscard]] auto stands_in(node_index node) const -> bool {
    return !bypassed_[node] && nodes_[node].fallback && nodes_[node].fallback->kind == fallback_kind::node;
  }

  /// Returns the nodes that can be reached from the nodes in `open` along the given edges. These nodes themselves are
  /// included.
  [[nodiscard]] auto reached(std::vector<node_index> open, const node_lists& edges) const -> std::vector<bool> {
    std::vector<bool> seen(nodes_.size(), false);
    while (!open.empty()) {
      const node_index at = open.back();
      open.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      open.insert(open.end(), edges[at].begin(), edges[at].end());
    }
    return seen;
  }

  void add_edge(node_index source, node_index to) {
    std::vector<node_index>& own = out_.after[to];
    if (std::ranges::find(own, source) == own.end()) own.push_back(source);
  }

  /// Marks the fallback of `source`, and all nodes that the fallback needs, as started by a failure of `source`. Skips
  /// the nodes that `source` depends on, because these nodes have run before `source`.
  void wake(node_index source) {
    std::vector<bool> seen = reached({source}, sources_);
    std::vector<node_index> open{nodes_[source].fallback->node};
    while (!open.empty()) {
      const node_index at = open.back();
      open.pop_back();
      if (runs_anyway_[at] || seen[at]) continue;
      seen[at] = true;
      out_.wakers[at].push_back(source);
      add_edge(source, at);
      open.insert(open.end(), sources_[at].begin(), sources_[at].end());
    }
  }

  void wait_for_others(node_index node) {
    for (const node_index source : sources_[node])
      for (node_index from = source; stands_in(from);) {
        from = nodes_[from].fallback->node;
        add_edge(from, node);
      }
  }

  /// Makes nodes run unconditionally if they would otherwise wait for themselves. Returns false if there is no such
  /// node.
  auto add_circular(std::vector<node_index>& wanted) const -> bool {
    const std::size_t before = wanted.size();
    node_lists edges = out_.after;
    for (node_index at = 0; at < nodes_.size(); ++at)
      edges[at].insert(edges[at].end(), sources_[at].begin(), sources_[at].end());
    for (node_index waker = 0; waker < nodes_.size(); ++waker) {
      if (!stands_in(waker)) continue;
      const std::vector<bool> before_waker = reached({waker}, edges);
      for (node_index at = 0; at < nodes_.size(); ++at)
        if (before_waker[at] && std::ranges::find(out_.wakers[at], waker) != out_.wakers[at].end())
          wanted.push_back(at);
    }
    return wanted.size() != before;
  }

  const std::vector<plan_node>& nodes_;
  const std::vector<node_index>& outputs_;
  const std::vector<bool>& bypassed_;
  const node_lists& sources_;
  route_fallbacks out_;
  std::vector<bool> runs_anyway_;
};

}  // namespace

auto fallbacks_of_route(const plan& loaded, const std::vector<bool>& bypassed, const node_lists& sources)
    -> route_fallbacks {
  return route_linker(loaded, bypassed, sources).run();
}

}  // namespace rankd::detail
