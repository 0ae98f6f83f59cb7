// bench/graph/braid.cpp: static graphs, built once and run many times; and what they cost to build.
#include <bench/graph/problems.hpp>

#include <braid/graph/shape.hpp>
#include <braid/graph/static_graph.hpp>
#include <braid/task/pool.hpp>

#include <utility>

#include <malloc.h>

namespace {

using bench::calls;
using bench::dag;
using bench::parameters;
using bench::sample;

auto built(const dag& what, calls& each) -> braid::static_graph {
  braid::graph_builder draft;
  std::vector<braid::graph_node> nodes;
  nodes.reserve(what.nodes);
  for (unsigned i = 0; i < what.nodes; ++i) nodes.push_back(draft.add(bench::node_work{&each[i], what.steps}));
  for (const auto [from, to] : what.edges) draft.precede(nodes[from], nodes[to]);
  return std::move(draft).build().value();
}

auto run(const parameters& given) -> sample {
  const dag what = bench::dag_of(given);
  calls each(what.nodes, 0);
  braid::static_graph graph = built(what, each);
  braid::pool pool({.workers = given.workers()});
  return braid::run_in(pool, [&] { return bench::timed_run(what, each, [&] { graph.run(); }); });
}

auto bytes_in_use() -> double {
  const auto now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

auto build(const parameters& given) -> sample {
  const dag what = bench::dag_of(given);
  calls each(what.nodes, 0);
  sample measured = bench::timed(what.nodes, std::size_t{what.nodes}, [&] { return built(what, each).size(); });
  const double before = bytes_in_use();
  const braid::static_graph graph = built(what, each);
  measured.extra = {{"bytes_per_node", (bytes_in_use() - before) / what.nodes},
                    {"build_ns", measured.wall_ns / measured.items}};
  return measured;
}

auto build_shape(const parameters& given) -> sample {
  const dag what = bench::dag_of(given);
  std::vector<braid::graph_shape::edge> edges;
  for (const auto [from, to] : what.edges) edges.push_back({from, to});
  sample measured = bench::timed(what.nodes, std::size_t{what.nodes},
                                 [&] { return braid::graph_shape::make(what.nodes, edges)->size(); });
  measured.extra = {{"build_ns", measured.wall_ns / measured.items}};
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  return bench::run_program(count, arguments, "graph",
                            {{"run", braid, run},
                             {"build", braid, build},
                             {"build", bench::braid_contender("braid graph_shape"), build_shape}});
}
