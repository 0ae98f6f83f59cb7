// tests/support/graph_runs.hpp: where tests run static graphs, and a ledger for their nodes.
#pragma once

#include <braid/graph/static_graph.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace braid::testing {

/// Ends the program when a test hangs.
struct watched {
  watchdog dog{std::chrono::seconds(200)};
};

/// When each node ran, counted over all nodes; 0: not yet.
struct ledger {
  explicit ledger(std::size_t nodes) : when(nodes) {}

  void note(std::size_t node) {
    CHECK(when[node].load(relaxed) == 0);
    when[node].store(now.fetch_add(1, relaxed) + 1, relaxed);
  }
  void clear() {
    for (auto& each : when) each.store(0, relaxed);
  }
  [[nodiscard]] auto ran(std::size_t node) const -> bool { return when[node].load(relaxed) != 0; }
  [[nodiscard]] auto in_order(std::size_t a, std::size_t b) const -> bool {
    return ran(a) && when[a].load(relaxed) < when[b].load(relaxed);
  }
  [[nodiscard]] auto all_ran() const -> bool {
    return std::ranges::all_of(when, [](const auto& each) { return each.load(relaxed) != 0; });
  }

  std::vector<atomic<std::uint64_t>> when;
  atomic<std::uint64_t> now{0};
};

inline auto built(graph_builder& draft) -> static_graph { return std::move(draft).build().value(); }

/// Calls it on a worker of each kind of pool that there is.
template <typename Fn>
void in_each_pool(Fn fn) {
  for (const unsigned workers : {1U, 2U, 3U}) {
    chosen_pool where({.workers = workers});
    run_in(where, fn);
  }
  braid::manual_executor on_this_thread;
  run_in(on_this_thread, fn);
  inline_executor in_place;
  run_in(in_place, fn);
}

}  // namespace braid::testing
