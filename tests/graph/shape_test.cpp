// tests/graph/shape_test.cpp: the arrays and the order of a graph, against plain oracles.
#include <braid/graph/shape.hpp>

#include <braid/base/random.hpp>

#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

using namespace braid;

namespace {

auto shape_of(std::size_t nodes, const std::vector<graph_shape::edge>& edges) -> result<graph_shape> {
  return graph_shape::make(nodes, edges);
}

auto find_order(std::size_t nodes, const std::vector<graph_shape::edge>& edges) -> std::vector<node_index> {
  const graph_shape shape = shape_of(nodes, edges).value();
  return {shape.order().begin(), shape.order().end()};
}

/// The order by its definition: again and again the smallest node whose predecessors all stand already.
auto order_by_definition(std::size_t nodes, const std::vector<graph_shape::edge>& edges) -> std::vector<node_index> {
  std::vector<node_index> order;
  std::set<node_index> left;
  for (std::size_t node = 0; node < nodes; ++node) left.insert(static_cast<node_index>(node));
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](node_index node) {
      return std::ranges::none_of(edges,
                                  [&](graph_shape::edge edge) { return edge.to == node && left.contains(edge.from); });
    });
    if (next == left.end()) return {};
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

}  // namespace

TEST_CASE("a graph without nodes is one") {
  const graph_shape shape = shape_of(0, {}).value();
  CHECK(shape.size() == 0);
  CHECK(shape.order().empty());
  CHECK(shape.predecessor_counts().empty());
}

TEST_CASE("nodes without edges stand in the order of their numbers") {
  CHECK(find_order(4, {}) == std::vector<node_index>{0, 1, 2, 3});
}

TEST_CASE("among the nodes that could stand next, the smallest number does") {
  CHECK(find_order(4, {{3, 0}}) == std::vector<node_index>{1, 2, 3, 0});
  CHECK(find_order(5, {{4, 0}, {0, 2}, {3, 1}}) == std::vector<node_index>{3, 1, 4, 0, 2});
}

TEST_CASE("successors, predecessor counts and positions say what the edges said") {
  const graph_shape shape = shape_of(4, {{0, 2}, {0, 1}, {1, 3}, {2, 3}}).value();
  const auto successors = shape.successors(0);
  CHECK(std::vector<node_index>(successors.begin(), successors.end()) == std::vector<node_index>{2, 1});
  CHECK(shape.successors(3).empty());
  CHECK(shape.predecessor_counts()[3] == 2);
  CHECK(shape.predecessor_counts()[0] == 0);
  for (std::size_t i = 0; i < shape.size(); ++i) CHECK(shape.position(shape.order()[i]) == i);
}

TEST_CASE("an edge given twice counts twice on both sides") {
  const graph_shape shape = shape_of(2, {{0, 1}, {0, 1}}).value();
  CHECK(shape.successors(0).size() == 2);
  CHECK(shape.predecessor_counts()[1] == 2);
  CHECK(shape.order().size() == 2);
}

TEST_CASE("cycles of any length are refused") {
  CHECK(shape_of(1, {{0, 0}}).error() == errc::cycle);
  CHECK(shape_of(2, {{0, 1}, {1, 0}}).error() == errc::cycle);
  CHECK(shape_of(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}).error() == errc::cycle);
}

TEST_CASE("edges to nodes that are not there are refused") {
  CHECK(shape_of(2, {{0, 2}}).error() == errc::invalid_argument);
  CHECK(shape_of(2, {{2, 0}}).error() == errc::invalid_argument);
  CHECK(shape_of(0, {{0, 0}}).error() == errc::invalid_argument);
}

TEST_CASE("more nodes than a node_index can number are refused") {
  CHECK(shape_of(std::size_t{1} << 32U, {}).error() == errc::invalid_argument);
}

TEST_CASE("a chain of a hundred thousand nodes, given backwards, is put in order") {
  constexpr node_index length = 100'000;
  std::vector<graph_shape::edge> edges;
  for (node_index node = 1; node < length; ++node) edges.push_back({node, node - 1});
  const std::vector<node_index> order = find_order(length, edges);
  REQUIRE(order.size() == length);
  CHECK(order.front() == length - 1);
  CHECK(order.back() == 0);
  CHECK(std::is_sorted(order.rbegin(), order.rend()));
}

TEST_CASE("the order of random graphs is the one by definition, and random cycles are found") {
  random_source random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t nodes = 2 + random.below(20);
    auto edges = testing::random_acyclic_edges(random, nodes, random.below(2 * nodes));
    CHECK(find_order(nodes, edges) == order_by_definition(nodes, edges));

    edges.push_back({static_cast<node_index>(random.below(nodes)), static_cast<node_index>(random.below(nodes))});
    const std::vector<node_index> expected = order_by_definition(nodes, edges);
    CHECK(shape_of(nodes, edges).has_value() == (expected.size() == nodes));
  }
}

TEST_CASE("the errors of a graph with names name the nodes") {
  struct row {
    std::vector<std::string_view> names;
    std::vector<graph_shape::edge> edges;
    const char* errors;
  };
  const std::vector<row> rows{
      {{"a"}, {{0, 0}}, "node `a`: the edges form a cycle: `a` before `a` [cycle]\n"},
      {{"hen", "egg"},
       {{1, 0}, {0, 1}},
       "node `hen`: the edges form a cycle: `hen` before `egg` before `hen` [cycle]\n"},
      {{"hen", "egg"},
       {{1, 0}, {0, 1}, {0, 1}},
       "node `hen`: the edges form a cycle: `hen` before `egg` before `hen` [cycle]\n"},
      {{"start", "a", "b", "c", "end"},
       {{0, 3}, {3, 1}, {1, 2}, {2, 3}, {2, 4}},
       "node `a`: the edges form a cycle: `a` before `b` before `c` before `a` [cycle]\n"},
      {{"a", "b"},
       {{0, 7}, {2, 1}},
       "the edge from `a` to node 7 names node 7, but the graph has 2 nodes [unknown_node]\n"
       "the edge from node 2 to `b` names node 2, but the graph has 2 nodes [unknown_node]\n"},
  };
  for (const row& each : rows) {
    const auto made = graph_shape::make(each.names, each.edges);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().to_text() == each.errors);
  }
}

TEST_CASE("a graph with names has the same shape as one without, and of a long cycle the first nodes are named") {
  const std::vector<std::string_view> names(30, "x");
  std::vector<graph_shape::edge> edges;
  for (node_index node = 0; node < 29; ++node) edges.push_back({node, node + 1});
  const auto made = graph_shape::make(names, edges);
  REQUIRE(made.has_value());
  CHECK(std::ranges::equal(made->order(), shape_of(30, edges).value().order()));
  edges.push_back({29, 0});
  const auto refused = graph_shape::make(names, edges);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().front().message.ends_with("`x` before 10 more before `x`"));
}
