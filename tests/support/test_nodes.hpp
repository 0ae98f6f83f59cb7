// tests/support/test_nodes.hpp: the nodes of a graph run, with what each does given by the test.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace braid::testing {

/// One node: where it runs, and what it does there.
struct test_node {
  node_mode mode = node_mode::here;
  duration timeout = duration::max();
  std::function<node_status(const stop_flag&)> run = [](const stop_flag&) { return node_status::done; };
  std::function<task<node_status>()> start = [] { return done_after(duration::zero()); };

  static auto done_after(duration span) -> task<node_status> {
    co_await sleep_for(span);
    co_return node_status::done;
  }
};

/// Satisfies `graph_nodes`, and writes down what was started and what ended, in order.
class test_nodes {
 public:
  explicit test_nodes(std::size_t count) : nodes(count) {}

  [[nodiscard]] auto mode(node_index node) const noexcept -> node_mode { return nodes[node].mode; }
  [[nodiscard]] auto timeout(node_index node) const noexcept -> duration {
    if (asked) asked(node);
    return nodes[node].timeout;
  }

  auto run(node_index node, const stop_flag& stop) -> node_status {
    started.push_back(node);
    const node_status status = nodes[node].run(stop);
    ended.push_back(node);
    return status;
  }

  auto start(node_index node) -> task<node_status> {
    started.push_back(node);
    return finish(node, nodes[node].start());
  }

  std::vector<test_node> nodes;
  std::function<void(node_index)> asked;  ///< called when a node is asked for its timeout
  std::vector<node_index> started;
  std::vector<node_index> ended;

 private:
  auto finish(node_index node, task<node_status> work) -> task<node_status> {
    const node_status status = co_await std::move(work);
    ended.push_back(node);
    co_return status;
  }
};

/// Edges from the lower to the higher of random pairs of places in a random permutation: never a cycle.
inline auto random_acyclic_edges(random_source& random, std::size_t nodes, std::size_t count)
    -> std::vector<graph_shape::edge> {
  std::vector<node_index> mode(nodes);
  std::iota(mode.begin(), mode.end(), 0U);
  std::shuffle(mode.begin(), mode.end(), random);
  std::vector<graph_shape::edge> edges;
  while (nodes > 1 && edges.size() < count) {
    const auto a = random.below(nodes);
    const auto b = random.below(nodes);
    if (a != b) edges.push_back({mode[std::min(a, b)], mode[std::max(a, b)]});
  }
  return edges;
}

/// Whether every node of `ended` was preceded there by all of its predecessors.
inline auto respects(const std::vector<node_index>& ended, const std::vector<graph_shape::edge>& edges,
                     std::size_t nodes) -> bool {
  std::vector<std::size_t> at(nodes, ended.size());
  for (std::size_t i = 0; i < ended.size(); ++i) at[ended[i]] = i;
  return std::ranges::all_of(
      edges, [&](graph_shape::edge edge) { return at[edge.to] == ended.size() || at[edge.from] < at[edge.to]; });
}

}  // namespace braid::testing
