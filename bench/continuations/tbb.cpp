// bench/continuations/tbb.cpp: chains of nodes of oneTBB's flow graph, and many tasks of a group.
#include <bench/harness/tbb.hpp>

#include <tbb/flow_graph.h>

#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;

using link = tbb::flow::continue_node<tbb::flow::continue_msg>;

/// The nodes add to one number in turn: edges order them. Making them is part of the time, as with futures.
auto then_before(const parameters& given) -> sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  return bench::in_arena(given.workers(), [links] {
    return bench::timed(static_cast<double>(links), links, [links] {
      std::uint64_t reached = 0;
      tbb::flow::graph graph;
      std::deque<link> nodes;
      for (std::uint64_t i = 0; i < links; ++i) {
        nodes.emplace_back(graph, [&reached](const tbb::flow::continue_msg&) { ++reached; });
        if (i > 0) tbb::flow::make_edge(nodes[i - 1], nodes[i]);
      }
      nodes.front().try_put({});
      graph.wait_for_all();
      return reached;
    });
  });
}

auto fan(const parameters& given) -> sample {
  const std::uint64_t width = given.number("width", 100'000);
  return bench::in_arena(given.workers(), [width] {
    return bench::timed(static_cast<double>(width), width * (width + 1) / 2, [width] {
      std::vector<std::uint64_t> values(width);
      tbb::task_group group;
      for (std::uint64_t i = 0; i < width; ++i) group.run([&values, i] { values[i] = i + 1; });
      group.wait();
      return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(
      count, arguments, "continuations",
      {{"then_before", bench::tbb_contender("oneTBB flow graph"), then_before}, {"fan", bench::tbb_contender(), fan}});
}
