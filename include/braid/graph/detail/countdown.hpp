// braid/graph/detail/countdown.hpp: a self-resetting counter of the predecessors of a node that have not ended.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// A counter that each predecessor of a node decrements once per run. Everything that the predecessors have written is
/// visible to the predecessor that ends last. This predecessor also resets the counter, because no other node reads the
/// counter until the next run.
/// Threads: any thread may call `arrive`; only the thread that runs the node may call the other functions.
/// Protocol: docs/design/static_graph.md
class countdown {
 public:
  /// Records that one of the node's predecessors has ended. `all` is the number of predecessors. Returns true if this
  /// was the last predecessor. Cost: an atomic read-modify-write, except usually for the last predecessor.
  [[nodiscard]] auto arrive(std::uint32_t all) noexcept -> bool {
    // If the counter is 1 here, all other predecessors have arrived. edge static_graph.arrival: observe what the other
    // predecessors have written
    if (left_.load(acquire) != 1) {
      // edge static_graph.arrival: both, because the last predecessor starts the node, which must see what all
      // predecessors have written
      if (left_.fetch_sub(1, acq_rel) != 1) return false;
    }
    left_.store(all, relaxed);
    return true;
  }

  /// Does the same as `arrive`, without an atomic read-modify-write. Requires that no other thread runs nodes of the
  /// graph.
  [[nodiscard]] auto arrive_alone(std::uint32_t all) noexcept -> bool {
    const std::uint32_t left = left_.load(relaxed);
    left_.store(left == 1 ? all : left - 1, relaxed);
    return left == 1;
  }

  void set(std::uint32_t value) noexcept { left_.store(value, relaxed); }

  /// Returns the value of the counter. While the node is ready, no thread decrements the counter, so the owner of the
  /// node may store another number in it.
  [[nodiscard]] auto get() const noexcept -> std::uint32_t { return left_.load(relaxed); }

 private:
  atomic<std::uint32_t> left_{0};  // decremented by each predecessor that ends; reset by the last one
};

}  // namespace braid::detail
