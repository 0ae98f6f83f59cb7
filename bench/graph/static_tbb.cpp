// bench/graph/static_tbb.cpp: the same graphs of `continue_node`s of oneTBB, built once and run many times.
#include <bench/graph/contenders.hpp>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

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

}  // namespace

auto bench::run_tbb(const dag& what, unsigned workers) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(static_cast<int>(workers));
  calls each(what.nodes, 0);
  sample measured;
  arena.execute([&] {
    flow graph(what, each);
    for (unsigned i = 0; i < warm_ups; ++i) graph.run();
    measured = timed([&] { return graph.run(), 0U; });
  });
  measured.result = sum_of(each);
  return measured;
}

auto bench::build_tbb(const dag& what) -> sample {
  calls each(what.nodes, 0);
  return timed([&] { return flow(what, each).nodes.size(); });
}
