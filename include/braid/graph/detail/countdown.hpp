// braid/graph/detail/countdown.hpp: counts the predecessors of a node that have not ended, and resets itself after the
// last.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// A counter that each predecessor decrements once per run. The last predecessor sees everything that the others did,
/// and resets the counter, because no other node reads it until the next run.
/// Threads: `arrive` from any; the other functions only from a thread that has the node for itself.
/// Protocol: docs/design/static_graph.md
class countdown {
 public:
  /// Counts one of `all` predecessors that has ended. Returns true for the last one. Cost: a read-modify-write; the
  /// last one seldom needs any.
  [[nodiscard]] auto arrive(std::uint32_t all) noexcept -> bool {
    // If this reads 1, all other predecessors have arrived. edge static_graph.arrival: observe what the other
    // predecessors did
    if (left_.load(acquire) != 1) {
      // edge static_graph.arrival: both, the last one starts the node, which sees what all predecessors did
      if (left_.fetch_sub(1, acq_rel) != 1) return false;
    }
    left_.store(all, relaxed);
    return true;
  }

  /// Does the same if no other thread runs nodes of the graph.
  [[nodiscard]] auto arrive_alone(std::uint32_t all) noexcept -> bool {
    const std::uint32_t left = left_.load(relaxed);
    left_.store(left == 1 ? all : left - 1, relaxed);
    return left == 1;
  }

  void set(std::uint32_t value) noexcept { left_.store(value, relaxed); }

  /// While the node waits for nothing and is not counted down, its word may hold a number for the node's owner.
  [[nodiscard]] auto get() const noexcept -> std::uint32_t { return left_.load(relaxed); }

 private:
  atomic<std::uint32_t> left_{0};  // −1 by each predecessor that ends; filled by the last
};

}  // namespace braid::detail
