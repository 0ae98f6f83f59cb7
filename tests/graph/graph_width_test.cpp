// tests/graph/graph_width_test.cpp: a graph leaves no worker without a node while one is ready, however long nodes are.
#include <braid/graph/static_graph.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/rounds.hpp>

#include <cstddef>
#include <utility>

using braid::pool;
using braid::testing::rounds;

namespace {

/// One node, many that wait for it, and one that waits for those.
void check_width(std::size_t workers, std::size_t each) {
  rounds all(workers);
  braid::graph_builder draft;
  const auto first = draft.add([] {});
  const auto last = draft.add([] {});
  for (std::size_t i = 0; i < workers * each; ++i) {
    const auto leaf = draft.add([&all] { all.leaf(); });
    draft.precede(first, leaf);
    draft.precede(leaf, last);
  }
  braid::static_graph graph = std::move(draft).build().value();
  pool on({.workers = static_cast<unsigned>(workers)});
  braid::run_in(on, [&] { graph.run(); });
  CHECK(all.begun() == workers * each);
  CHECK_FALSE(all.gave_up());
}

}  // namespace

TEST_CASE("a graph keeps all workers at work") {
  for (const std::size_t each : {1U, 4U, 16U}) check_width(8, each);
  check_width(32, 1);
}
