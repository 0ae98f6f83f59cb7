// braid/graph/detail/walk_count.hpp: detects when all threads that run nodes of a graph have ended.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// Counts the walks of a run. A walk is a sequence of nodes that one thread runs without interruption. It leaves some
/// ready nodes to other threads, and each thread that takes such a node begins another walk. A walk determines only at
/// its end how many of its nodes were taken. In the last walk of the run, `end` returns true. This walk then sees
/// everything that all walks have written.
/// Threads: any. Cost: two atomic read-modify-writes for each walk, and nothing for each node.
/// Protocol: docs/design/static_graph.md
class walk_count {
 public:
  /// Begins a walk at a ready node that another walk left to other threads. Not called for the first walk of a run.
  void begin() noexcept { word_.fetch_add(one_under_way, relaxed); }

  /// Ends a walk. `children` is the number of this walk's nodes that other threads have taken, minus the number of
  /// other walks' nodes that this walk has run. So `children` is negative if the walk ran nodes of another walk that is
  /// suspended below it on the same worker's stack. Returns true if the run has ended.
  [[nodiscard]] auto end(std::int32_t children) noexcept -> bool {
    const std::uint64_t change = static_cast<std::uint64_t>(std::int64_t{children}) - 1 - one_under_way;
    return word_.fetch_add(change, acq_rel) + change == 0;  // edge static_graph.walks: both, the last sees all writes
  }

 private:
  static constexpr std::uint64_t one_under_way = std::uint64_t{1} << 32U;

  // The upper half counts the walks that have begun and not ended. The lower half is the number of walks that are known
  // minus the number of walks that have ended. A walk becomes known when its parent ends. A walk may end before it
  // becomes known, so the lower half may be negative while walks are running.
  atomic<std::uint64_t> word_{one_under_way + 1};
};

}  // namespace braid::detail
