// tests/graph/graph_builder_test.cpp: what is wrong with a graph is said with the names of its nodes.
#include <braid/graph/static_graph.hpp>

#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using braid::graph_builder;
using braid::graph_node;
using braid::static_graph;
using braid::testing::deaths;
using braid::testing::mortal;

namespace {

/// The diagnostics about a graph, a line each.
auto diagnostics(graph_builder& draft) -> std::string {
  const auto made = std::move(draft).build();
  return made ? "none" : made.error().to_text();
}

/// Nodes that have the letters from "a" on as names.
auto letters(graph_builder& draft, std::size_t count) -> std::vector<graph_node> {
  std::vector<graph_node> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(draft.add(std::string(1, static_cast<char>('a' + i)), [] {}));
  return nodes;
}

void run_here(static_graph& graph) {
  braid::inline_executor in_place;
  run_in(in_place, [&graph] { graph.run(); });
}

}  // namespace

TEST_CASE("a cycle is told by the names of its nodes, in their order") {
  graph_builder draft;
  const auto node = letters(draft, 5);
  draft.precede(node[0], node[1]);
  draft.precede(node[1], node[2]);
  draft.precede(node[2], node[3]);
  draft.precede(node[3], node[1]);
  draft.precede(node[3], node[4]);
  const auto made = std::move(draft).build();
  REQUIRE(!made);
  REQUIRE(made.error().size() == 1);
  CHECK(made.error().front().code == "cycle");
  const std::string text = made.error().front().message;
  const std::array<std::string, 3> turns{
      "the edges form a cycle: node 1 (b) before node 2 (c) before node 3 (d) before node 1 (b)",
      "the edges form a cycle: node 2 (c) before node 3 (d) before node 1 (b) before node 2 (c)",
      "the edges form a cycle: node 3 (d) before node 1 (b) before node 2 (c) before node 3 (d)"};
  CHECK_MESSAGE((text == turns[0] || text == turns[1] || text == turns[2]), text);
}

TEST_CASE("a cycle that no source leads to is found") {
  graph_builder draft;
  const auto node = letters(draft, 2);
  draft.precede(node[0], node[1]);
  draft.succeed(node[0], node[1]);
  CHECK(diagnostics(draft).find("form a cycle") != std::string::npos);
}

TEST_CASE("a cycle through a node with many successors names no hidden node") {
  graph_builder draft;
  const graph_node root = draft.add([] {});
  const graph_node wide = draft.add("wide", [] {});
  draft.precede(root, wide);
  graph_node back;
  for (int i = 0; i < 1000; ++i) draft.precede(wide, back = draft.add("leaf", [] {}));
  draft.precede(back, wide);
  const auto made = std::move(draft).build();
  REQUIRE(!made);
  const std::string text = made.error().front().message;
  CHECK_MESSAGE((text == "the edges form a cycle: node 1 (wide) before node 1001 (leaf) before node 1 (wide)" ||
                 text == "the edges form a cycle: node 1001 (leaf) before node 1 (wide) before node 1001 (leaf)"),
                text);
}

TEST_CASE("a long cycle is told in part") {
  graph_builder draft;
  const graph_node first = draft.add([] {});
  graph_node last = first;
  for (int i = 1; i < 100; ++i) {
    const graph_node node = draft.add([] {});
    draft.precede(last, node);
    last = node;
  }
  draft.precede(last, first);
  CHECK(diagnostics(draft).find("80 more before") != std::string::npos);
}

TEST_CASE("an edge from a node to itself is named") {
  graph_builder draft;
  const auto node = letters(draft, 2);
  draft.precede(node[1], node[1]);
  CHECK(diagnostics(draft) == "node `1`: node 1 (b) cannot be its own predecessor [self_edge]\n");
}

TEST_CASE("an edge that was given before is named, each time") {
  graph_builder draft;
  const auto node = letters(draft, 3);
  draft.precede(node[0], node[1], node[2], node[1]);
  draft.succeed(node[1], node[0]);
  const std::string line = "node `0`: the edge from node 0 (a) to node 1 (b) was given before [duplicate_edge]\n";
  CHECK(diagnostics(draft) == line + line);
}

TEST_CASE("nodes that the builder has not given are refused") {
  graph_builder draft;
  graph_builder other;
  const graph_node mine = draft.add("mine", [] {});
  const graph_node foreign = other.add([] {});
  draft.precede(mine, foreign);
  draft.precede(graph_node(), mine);
  CHECK(diagnostics(draft) ==
        "an edge from node 0 (mine) refers to a node that this builder has not created [unknown_node]\n"
        "an edge to node 0 (mine) refers to a node that this builder has not created [unknown_node]\n");
}

TEST_CASE("all diagnostics come at once") {
  graph_builder draft;
  const auto node = letters(draft, 2);
  draft.precede(node[0], node[0]);
  draft.precede(node[1], graph_node());
  draft.precede(node[0], node[1], node[1]);
  const auto made = std::move(draft).build();
  REQUIRE(!made);
  CHECK(made.error().size() == 3);
}

TEST_CASE("a builder is empty after it has built, and its nodes are not those of the next graph") {
  graph_builder draft;
  const graph_node node = draft.add([] {});
  CHECK(std::move(draft).build()->size() == 1);
  CHECK(draft.size() == 0);
  const graph_node next = draft.add([] {});
  draft.precede(node, next);
  CHECK(diagnostics(draft).find("unknown_node") != std::string::npos);
}

TEST_CASE("callables of any size and kind are kept, and destroyed with the graph") {
  deaths ends;
  long sum = 0;
  {
    graph_builder draft;
    draft.add([one = std::make_unique<int>(1), &sum] { sum += *one; });  // can only be moved
    draft.add([&sum, many = std::array<long, 9>{2, 3, 4, 5, 6, 7, 8, 9, 10}] {
      for (const long each : many) sum += each;
    });
    draft.add([&sum, end = std::make_unique<mortal>(ends)] { sum += 100; });
    draft.add([&sum, calls = 0L]() mutable { sum += 1000 * ++calls; });  // keeps its state from run to run
    struct alignas(64) wide {
      long value = 10'000;
    };
    draft.add([&sum, by = wide()] { sum += by.value; });
    static_graph graph = std::move(draft).build().value();
    run_here(graph);
    CHECK(sum == 11'155);
    run_here(graph);
    CHECK(sum == 23'310);
    CHECK(ends.count == 0);
  }
  CHECK(ends.count == 1);
}

TEST_CASE("callables of a graph that is not built are destroyed") {
  deaths ends;
  {
    graph_builder draft;
    const graph_node node = draft.add([end = mortal(ends)] {});
    draft.precede(node, node);
    CHECK(!std::move(draft).build());
  }
  CHECK(ends.count == 1);
}
