// bench/graph/problems.hpp: the graphs that are built and run, and what their nodes do.
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/work.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace bench {

struct dag_edge {
  unsigned from;
  unsigned to;
};

struct dag {
  unsigned nodes;
  std::vector<dag_edge> edges;
  std::uint64_t steps = 0;  ///< of work, in each node
};

inline auto chain(unsigned nodes) -> dag {
  dag made{.nodes = nodes, .edges = {}};
  for (unsigned i = 1; i < nodes; ++i) made.edges.push_back({i - 1, i});
  return made;
}

inline auto tree(unsigned nodes) -> dag {
  dag made{.nodes = nodes, .edges = {}};
  for (unsigned i = 1; i < nodes; ++i) made.edges.push_back({(i - 1) / 2, i});
  return made;
}

inline auto wavefront(unsigned nodes) -> dag {
  const auto side = static_cast<unsigned>(std::sqrt(nodes));
  dag made{.nodes = side * side, .edges = {}};
  for (unsigned row = 0; row < side; ++row)
    for (unsigned column = 0; column < side; ++column) {
      const unsigned at = row * side + column;
      if (column + 1 < side) made.edges.push_back({at, at + 1});
      if (row + 1 < side) made.edges.push_back({at, at + side});
    }
  return made;
}

inline auto independent(unsigned nodes) -> dag { return {.nodes = nodes, .edges = {}}; }

/// Up to four predecessors among the thousand nodes before.
inline auto random_dag(unsigned nodes) -> dag {
  dag made{.nodes = nodes, .edges = {}};
  std::mt19937 random(7);
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  for (unsigned i = 1; i < nodes; ++i) {
    std::vector<unsigned> before(below(5));
    for (unsigned& each : before) each = i - 1 - below(std::min(i, 1000U));
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
    for (const unsigned each : before) made.edges.push_back({each, i});
  }
  return made;
}

/// The graph that the parameters name. A node works for `work_ns`.
inline auto dag_of(const parameters& given) -> dag {
  static const double each_step_ns = step_ns();
  const auto nodes = static_cast<unsigned>(given.number("nodes", 1U << 17U));
  const std::string shape = given.word("shape", "chain");
  dag made = shape == "chain"         ? chain(nodes)
             : shape == "tree"        ? tree(nodes)
             : shape == "wavefront"   ? wavefront(nodes)
             : shape == "independent" ? independent(nodes)
                                      : random_dag(nodes);
  made.steps = static_cast<std::uint64_t>(static_cast<double>(given.number("work_ns", 0)) / each_step_ns);
  return made;
}

/// What the nodes do: each counts its calls, in a place of its own, and works.
using calls = std::vector<std::uint32_t>;

struct node_work {
  std::uint32_t* slot;
  std::uint64_t steps;

  void operator()() const {
    ++*slot;
    work_for(steps);
  }
};

inline auto sum_of(const calls& each) -> std::uint64_t { return std::accumulate(each.begin(), each.end(), 0ULL); }

/// `run()` runs the graph once; before the time is taken, twice.
template <typename Run>
auto timed_run(const dag& what, const calls& each, Run run) -> sample {
  run();
  run();
  const std::uint64_t before = sum_of(each);
  return timed(what.nodes, std::uint64_t{what.nodes}, [&] {
    run();
    return sum_of(each) - before;
  });
}

}  // namespace bench
