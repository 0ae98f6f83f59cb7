// tests/graph/idle_worker_stress.cpp: no worker sleeps beside a node that is ready for longer than docs/pools.md says.
// BRAID_STRESS=100 looks for some minutes.
#include <braid/graph/static_graph.hpp>

#include <braid/base/random.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/idle_monitor.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

using braid::pool;
using braid::scheduler;
using braid::testing::idle_chance;
using braid::testing::idle_monitor;
using braid::testing::scaled;
using braid::testing::work_board;
using namespace std::chrono_literals;

namespace {

/// A node, as many as there are items that wait for it, and one that waits for those.
void run_graph(work_board& board, idle_chance& chance, std::size_t items) {
  braid::graph_builder draft;
  const auto first = draft.add([&board, items] {
    for (std::size_t i = 0; i < items; ++i) board.offer(i);
  });
  const auto last = draft.add([] {});
  for (std::size_t i = 0; i < items; ++i) {
    const auto length = chance.length();
    const auto node = draft.add([&board, i, length] { board.leaf(i, length); });
    draft.precede(first, node);
    draft.precede(node, last);
  }
  std::move(draft).build().value().run();
}

}  // namespace

TEST_CASE("no worker sleeps beside nodes that are ready") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(120s);
  for (const scheduler each : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    for (const std::size_t workers : {2U, 5U}) {
      idle_chance chance{.random = braid::random_source(seed)};
      work_board board(idle_chance::max_items);
      pool on({.workers = static_cast<unsigned>(workers), .name = "idle", .scheduler = each});
      idle_monitor monitor(board, {.threads = "idle", .workers = workers, .limit = 2ms});
      for (std::size_t left = scaled(8); left > 0; --left) {
        const std::size_t items = chance.count();
        braid::run_in(on, [&] { run_graph(board, chance, items); });
        board.finish_round(items);
      }
      monitor.stop();
      monitor.print("graph, scheduler " + std::to_string(static_cast<int>(each)) + ", " + std::to_string(workers));
      CHECK(monitor.violations() == 0);
    }
  }
}
