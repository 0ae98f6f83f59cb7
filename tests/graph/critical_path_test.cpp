// tests/graph/critical_path_test.cpp: paths through times that are written down here, and through random ones.
#include <braid/graph/shape.hpp>

#include <braid/base/random.hpp>

#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

using namespace braid;

namespace {

auto at(int tick) -> time_point { return time_point(duration(tick)); }

auto ran(int started, int ended) -> node_times { return {.ready = {}, .started = at(started), .ended = at(ended)}; }

auto step(node_index node, int queue, int run) -> critical_step { return {node, duration(queue), duration(run)}; }

auto sum_of(const std::vector<critical_step>& path) -> duration {
  return std::accumulate(path.begin(), path.end(), duration::zero(),
                         [](duration sum, const critical_step& each) { return sum + each.queue + each.run; });
}

}  // namespace

TEST_CASE("a node that has not run has no times, and one that has tells how long it waited and ran") {
  const node_times none;
  CHECK_FALSE(none.has_run());
  const node_times some{.ready = at(10), .started = at(13), .ended = at(20)};
  CHECK(some.has_run());
  CHECK(some.queue() == 3ns);
  CHECK(some.run() == 7ns);
}

TEST_CASE("a graph without nodes, or of which none has run, has an empty path") {
  CHECK(critical_path(graph_shape(), at(0), {}).empty());
  const std::vector<graph_shape::edge> edges{{0, 1}};
  const auto shape = graph_shape::make(2, edges).value();
  CHECK(critical_path(shape, at(0), std::vector<node_times>(2)).empty());
}

TEST_CASE("the path of a diamond goes through its slower side") {
  const std::vector<graph_shape::edge> edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const auto shape = graph_shape::make(4, edges).value();
  const std::vector<node_times> times{ran(105, 110), ran(111, 115), ran(112, 130), ran(133, 140)};
  const std::vector<critical_step> expected{step(0, 5, 5), step(2, 2, 18), step(3, 3, 7)};
  CHECK(critical_path(shape, at(100), times) == expected);
}

TEST_CASE("a node that others do not wait for may end last, and is then the end of the path") {
  const std::vector<graph_shape::edge> edges{{0, 1}};
  const auto shape = graph_shape::make(3, edges).value();
  const std::vector<node_times> times{ran(0, 10), ran(10, 20), ran(1, 50)};
  CHECK(critical_path(shape, at(0), times) == std::vector{step(2, 1, 49)});
}

TEST_CASE("of nodes that end at once the first in the order is taken") {
  const std::vector<graph_shape::edge> edges{{0, 2}, {1, 2}};
  const auto shape = graph_shape::make(4, edges).value();
  const std::vector<node_times> times{ran(0, 10), ran(5, 10), ran(10, 12), ran(0, 12)};
  CHECK(critical_path(shape, at(0), times) == std::vector{step(0, 0, 10), step(2, 0, 2)});
}

TEST_CASE("nodes that did not run are passed over") {
  const std::vector<graph_shape::edge> edges{{0, 1}, {1, 2}};
  const auto shape = graph_shape::make(3, edges).value();
  const std::vector<node_times> times{ran(2, 10), node_times{}, node_times{}};
  CHECK(critical_path(shape, at(0), times) == std::vector{step(0, 2, 8)});
}

TEST_CASE("the steps of a random run are a way through its graph, and add up to the time until the last end") {
  random_source random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.below(30);
    const auto edges = testing::random_acyclic_edges(random, count, random.below(3 * count));
    const auto shape = graph_shape::make(count, edges).value();
    std::vector<node_times> times(count);
    time_point last = at(1000);
    for (const node_index node : shape.order()) {
      time_point ready = at(1000);
      for (const graph_shape::edge edge : edges)
        if (edge.to == node) ready = std::max(ready, times[edge.from].ended);
      const time_point started = ready + duration(static_cast<duration::rep>(random.below(50)));
      times[node] = {ready, started, started + duration(static_cast<duration::rep>(random.below(50)))};
      last = std::max(last, times[node].ended);
    }
    const auto path = critical_path(shape, at(1000), times);
    REQUIRE_FALSE(path.empty());
    CHECK(sum_of(path) == last - at(1000));
    CHECK(shape.predecessor_counts()[path.front().node] == 0);
    for (std::size_t i = 1; i < path.size(); ++i) {
      CHECK(std::ranges::count(shape.successors(path[i - 1].node), path[i].node) > 0);
      CHECK(path[i].queue == times[path[i].node].queue());
    }
  }
}

TEST_CASE("the longest remaining path of a node is its weight and the longest of those behind it") {
  struct row {
    std::vector<graph_shape::edge> edges;
    std::vector<duration> weights;
    std::vector<duration> longest;
  };
  const std::vector<row> rows{
      {{}, {}, {}},
      {{}, {3ns, 0ns}, {3ns, 0ns}},
      {{{0, 1}, {1, 2}}, {1ns, 2ns, 4ns}, {7ns, 6ns, 4ns}},
      {{{2, 1}, {1, 0}}, {1ns, 2ns, 4ns}, {1ns, 3ns, 7ns}},
      {{{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {1ns, 5ns, 2ns, 1ns}, {7ns, 6ns, 3ns, 1ns}},
      {{{0, 1}}, {1ns, duration::max()}, {duration::max(), duration::max()}},
  };
  for (const row& each : rows) {
    const auto shape = graph_shape::make(each.weights.size(), each.edges).value();
    CHECK(remaining_paths(shape, each.weights) == each.longest);
  }
}

TEST_CASE("measured weights are how long nodes ran, and a node that did not run weighs nothing") {
  const std::vector<graph_shape::edge> edges{{0, 1}, {1, 2}};
  const auto shape = graph_shape::make(3, edges).value();
  const std::vector<node_times> times{ran(0, 10), node_times(), ran(50, 53)};
  CHECK(remaining_paths(shape, times) == std::vector<duration>{13ns, 3ns, 3ns});
}
