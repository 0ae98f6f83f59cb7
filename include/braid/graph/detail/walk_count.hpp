// braid/graph/detail/walk_count.hpp: detects when all threads that run nodes of a graph have come to the end.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// Counts the walks of a run. A walk is a sequence of nodes that one thread runs without a break. It leaves nodes
/// behind for other threads, and each of these nodes begins another walk; a walk knows only at its end how many of its
/// nodes were taken. `end` returns true to the last walk of the run, and everything that all walks did is then visible.
/// Threads: any. Cost: two read-modify-writes for each walk, nothing for each node.
/// Protocol: docs/design/static_graph.md
class walk_count {
 public:
  /// A walk begins that was left behind by another one. The first walk has begun from the start.
  void begin() noexcept { word_.fetch_add(one_under_way, relaxed); }

  /// Ends a walk of whose nodes other threads took `children`. The number is negative if the walk ran nodes that
  /// another walk, which is suspended below it on the same worker, had left behind. Returns true if the run is over.
  [[nodiscard]] auto end(std::int32_t children) noexcept -> bool {
    const std::uint64_t change = static_cast<std::uint64_t>(std::int64_t{children}) - 1 - one_under_way;
    return word_.fetch_add(change, acq_rel) + change == 0;  // edge static_graph.walks: both, the last sees what all did
  }

 private:
  static constexpr std::uint64_t one_under_way = std::uint64_t{1} << 32U;

  // 2^32 for each walk that has begun and not ended; and the walks that were heard of, less those that have ended: one
  // is heard of when its parent ends, and ends perhaps before that, so this part may be below 0 while walks go on.
  atomic<std::uint64_t> word_{one_under_way + 1};
};

}  // namespace braid::detail
