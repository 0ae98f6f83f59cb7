// examples/03_graph.cpp: a graph of nodes: some compute here, some on workers,
// some wait.
#include <braid/coro/sleep.hpp>
#include <braid/graph/run.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <cstdio>

using namespace std::chrono_literals;

// [program]
/// fetch → left, right → join: nodes 0, 1, 2, 3.
struct diamond {
  std::array<int, 4> value{};

  auto mode(braid::node_index node) noexcept -> braid::node_mode {
    if (node == 0) return braid::node_mode::task;
    return node == 3 ? braid::node_mode::here : braid::node_mode::worker;
  }
  auto timeout(braid::node_index) noexcept -> braid::duration { return 1s; }

  auto start(braid::node_index) -> braid::task<braid::node_status> {
    co_await braid::sleep_for(1ms);
    value[0] = 20;
    co_return braid::node_status::done;
  }
  auto run(braid::node_index node, const braid::stop_flag&)
      -> braid::node_status {
    value[node] =
        node == 3 ? value[1] + value[2] : value[0] + static_cast<int>(node);
    return braid::node_status::done;
  }
};

braid::task<int> run_diamond(braid::pool& workers) {
  const std::array<braid::graph_shape::edge, 4> edges{
      {{0, 1}, {0, 2}, {1, 3}, {2, 3}}};
  const auto shape = braid::graph_shape::make(4, edges);
  diamond nodes;
  braid::scope inside(co_await braid::this_scope());
  braid::graph_run run(*shape, nodes, workers, inside);
  run.start();
  co_await run.join();
  co_return nodes.value[3];
}
// [/program]

int main() {
  auto runtime = braid::runtime::create({.workers = 2});
  if (runtime)
    std::printf("%d\n", (*runtime)->run(run_diamond((*runtime)->workers())));
}
