// tests/support/run_bench.hpp: one run of a graph, whose workers and clock a test turns by hand.
#pragma once

#include <braid/coro/scope.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_nodes.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace braid::testing {

/// A graph, what its nodes do, and one run of it in a scope of its own.
struct run_bench {
  run_bench(std::size_t count, std::vector<graph_shape::edge> given)
      : edges(std::move(given)), shape(graph_shape::make(count, edges).value()), nodes(count) {}
  run_bench(const run_bench&) = delete;
  auto operator=(const run_bench&) -> run_bench& = delete;
  ~run_bench() {
    if (!run) return;
    in->request_stop();
    workers.run_all();
    join();
  }

  void start(time_point deadline = time_point::max()) {
    in.emplace(here.io().root(), deadline);
    run.emplace(shape, nodes, workers, *in, options);
    run->start();
  }

  [[nodiscard]] auto settled() -> bool { return run->settled().is_set(); }

  /// Turns and runs workers until no node runs any more.
  void join() {
    auto wait = [&]() -> task<void> { co_await run->join(); };
    REQUIRE(here.run(wait()).has_value());
  }

  /// The failure of a run that is settled.
  [[nodiscard]] auto failure() -> const graph_failure& {
    REQUIRE(settled());
    REQUIRE(run->failure().has_value());
    return *run->failure();
  }

  void mode_of_all(node_mode mode) {
    for (test_node& node : nodes.nodes) node.mode = mode;
  }

  test_loop here;
  manual_executor workers;
  std::vector<graph_shape::edge> edges;
  graph_shape shape;
  test_nodes nodes;
  graph_run_options options;
  std::optional<scope> in;
  std::optional<graph_run<test_nodes>> run;
};

}  // namespace braid::testing
