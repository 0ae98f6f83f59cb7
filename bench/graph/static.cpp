// bench/graph/static.cpp: what a node of a graph costs that is built once and run many times, and what it costs to
// build.
#include <bench/graph/contenders.hpp>

#include <braid/base/random.hpp>
#include <braid/graph/graph_builder.hpp>
#include <braid/graph/shape.hpp>
#include <braid/graph/static_graph.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/run_in.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>

namespace {

using bench::calls;
using bench::dag;
using bench::sample;

auto chain(unsigned nodes) -> dag {
  dag made{.name = "chain", .nodes = nodes, .edges = {}};
  for (unsigned i = 1; i < nodes; ++i) made.edges.push_back({i - 1, i});
  return made;
}

auto tree(unsigned nodes) -> dag {
  dag made{.name = "tree", .nodes = nodes, .edges = {}};
  for (unsigned i = 1; i < nodes; ++i) made.edges.push_back({(i - 1) / 2, i});
  return made;
}

auto wavefront(unsigned nodes) -> dag {
  const auto side = static_cast<unsigned>(std::sqrt(nodes));
  dag made{.name = "wavefront", .nodes = side * side, .edges = {}};
  for (unsigned row = 0; row < side; ++row)
    for (unsigned column = 0; column < side; ++column) {
      const unsigned at = row * side + column;
      if (column + 1 < side) made.edges.push_back({at, at + 1});
      if (row + 1 < side) made.edges.push_back({at, at + side});
    }
  return made;
}

auto independent(unsigned nodes) -> dag { return {.name = "independent", .nodes = nodes, .edges = {}}; }

/// Up to four predecessors among the thousand nodes before.
auto random_dag(unsigned nodes) -> dag {
  dag made{.name = "random", .nodes = nodes, .edges = {}};
  braid::random_source random(7);
  for (unsigned i = 1; i < nodes; ++i) {
    std::vector<unsigned> before(random.below(5));
    for (unsigned& each : before) each = i - 1 - static_cast<unsigned>(random.below(std::min(i, 1000U)));
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
    for (const unsigned each : before) made.edges.push_back({each, i});
  }
  return made;
}

/// A wavefront whose nodes are as long as a short function.
auto slow_wavefront(unsigned nodes) -> dag {
  constexpr double ns = 200;
  dag made = wavefront(nodes / 8);
  made.name = "wavefront of 0.2 us";
  made.steps = static_cast<std::uint64_t>(ns / bench::step_ns());
  return made;
}

[[gnu::noinline]] void call(bench::node_work work) { work(); }

/// The calls alone, in an order that is right.
auto run_serial(const dag& what, const braid::graph_shape& shape) -> sample {
  calls each(what.nodes, 0);
  const auto once = [&] {
    for (const braid::node_index node : shape.order()) call({&each[node], what.steps});
    return 0U;
  };
  for (unsigned i = 0; i < bench::warm_ups; ++i) once();
  sample measured = bench::timed(once);
  measured.result = bench::sum_of(each);
  return measured;
}

auto built(const dag& what, calls& each) -> braid::static_graph {
  braid::graph_builder draft;
  std::vector<braid::graph_node> nodes;
  nodes.reserve(what.nodes);
  for (unsigned i = 0; i < what.nodes; ++i) nodes.push_back(draft.add(bench::node_work{&each[i], what.steps}));
  for (const auto [from, to] : what.edges) draft.precede(nodes[from], nodes[to]);
  return std::move(draft).build().value();
}

auto run_braid(const dag& what, unsigned workers) -> sample {
  calls each(what.nodes, 0);
  braid::static_graph graph = built(what, each);
  braid::pool pool({.workers = workers});
  sample measured = braid::run_in(pool, [&] {
    for (unsigned i = 0; i < bench::warm_ups; ++i) graph.run();
    return bench::timed([&] { return graph.run(), 0U; });
  });
  measured.result = bench::sum_of(each);
  return measured;
}

auto build_braid(const dag& what) -> sample {
  calls each(what.nodes, 0);
  return bench::timed([&] { return built(what, each).size(); });
}

auto build_shape(const dag& what) -> sample {
  return bench::timed([&] { return braid::graph_shape::make(what.nodes, what.edges)->size(); });
}

auto bytes_in_use() -> double {
  const auto now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

void measure_build(const dag& what, const bench::options& how) {
  std::vector<bench::contender> contenders{
      {"shape", [&](unsigned) { return build_shape(what); }},
      {"braid", [&](unsigned) { return build_braid(what); }},
  };
#if defined(BENCH_TBB)
  contenders.push_back({"oneTBB", [&](unsigned) { return bench::build_tbb(what); }});
#endif
  const std::string name = "graph/" + what.name + ", built";
  bench::compare({.name = name, .items = static_cast<double>(what.nodes), .expected = what.nodes}, 1, how.rounds,
                 contenders);
  calls each(what.nodes, 0);
  const double before = bytes_in_use();
  const braid::static_graph graph = built(what, each);
  std::printf("  braid keeps %.0f bytes for each node\n", (bytes_in_use() - before) / what.nodes);
}

void measure_run(const dag& what, const bench::options& how) {
  const auto shape = braid::graph_shape::make(what.nodes, what.edges);
  std::vector<bench::contender> contenders{
      {"serial", [&](unsigned) { return run_serial(what, *shape); }},
      {"braid", [&](unsigned workers) { return run_braid(what, workers); }},
  };
#if defined(BENCH_TBB)
  contenders.push_back({"oneTBB", [&](unsigned workers) { return bench::run_tbb(what, workers); }});
#endif
  const std::string name = "graph/" + what.name;
  bench::compare_all({.name = name,
                      .items = static_cast<double>(what.nodes),
                      .expected = std::uint64_t{what.nodes} * (bench::warm_ups + 1)},
                     how, contenders);
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 1U << 17U}, "how many nodes, about");
  for (const auto make : {chain, tree, wavefront, slow_wavefront, independent, random_dag})
    measure_run(make(how.size), how);
  for (const auto make : {chain, tree, wavefront, independent, random_dag}) measure_build(make(how.size), how);
}
