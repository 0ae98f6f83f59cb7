// bench/graph/contenders.hpp: the graphs that are run, and who else runs them. Each is compiled where its library is.
#pragma once

#include <bench/harness/rounds.hpp>
#include <bench/harness/work.hpp>

#include <braid/graph/shape.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace bench {

struct dag {
  std::string name;
  unsigned nodes;
  std::vector<braid::graph_edge> edges;
  std::uint64_t steps = 0;  ///< of work, in each node
};

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

/// A graph is run so often before the time is taken, and then once more.
inline constexpr unsigned warm_ups = 2;

auto run_tbb(const dag& what, unsigned workers) -> sample;
auto build_tbb(const dag& what) -> sample;

}  // namespace bench
