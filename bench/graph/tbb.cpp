// bench/graph/tbb.cpp: the same graphs of nodes of oneTBB, built once and run many times.
#include <bench/graph/problems.hpp>
#include <bench/harness/tbb.hpp>

#include <tbb/flow_graph.h>

#include <cstddef>
#include <deque>
#include <vector>

namespace {

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

struct flow {
  flow(const bench::dag& what, bench::calls& each) {
    std::vector<bool> has_predecessor(what.nodes, false);
    for (unsigned i = 0; i < what.nodes; ++i)
      nodes.emplace_back(graph, [work = bench::node_work{&each[i], what.steps}](const continue_msg&) { work(); });
    for (const auto [from, to] : what.edges) {
      tbb::flow::make_edge(nodes[from], nodes[to]);
      has_predecessor[to] = true;
    }
    for (unsigned i = 0; i < what.nodes; ++i)
      if (!has_predecessor[i]) sources.push_back(&nodes[i]);
  }

  void run() {
    for (node* const source : sources) source->try_put(continue_msg());
    graph.wait_for_all();
  }

  tbb::flow::graph graph;
  std::deque<node> nodes;  // which cannot be moved
  std::vector<node*> sources;
};

auto run(const bench::parameters& given) -> bench::sample {
  const bench::dag what = bench::dag_of(given);
  bench::calls each(what.nodes, 0);
  return bench::in_arena(given.workers(), [&] {
    flow graph(what, each);
    return bench::timed_run(what, each, [&] { graph.run(); });
  });
}

auto build(const bench::parameters& given) -> bench::sample {
  const bench::dag what = bench::dag_of(given);
  bench::calls each(what.nodes, 0);
  bench::sample measured =
      bench::timed(what.nodes, std::size_t{what.nodes}, [&] { return flow(what, each).nodes.size(); });
  measured.extra = {{"build_ns", measured.wall_ns / measured.items}};
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender("oneTBB flow graph");
  return bench::run_program(count, arguments, "graph", {{"run", tbb, run}, {"build", tbb, build}});
}
