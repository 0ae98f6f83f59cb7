// braid/graph/detail/walk_count.hpp: detects when all threads that run nodes of a graph have come to the end.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// A walk is what one thread does in one go. It leaves nodes behind that others take, each of which begins a walk of
/// its own; how many were taken it knows only when it ends. Says once, to the last walk to end, that none goes on and
/// none is still to begin; what all have done is visible then. Threads: any. Cost: two read-modify-writes for each
/// walk, and none for each node. Protocol: docs/design/static_graph.md
class walk_count {
 public:
  /// A walk begins that was left behind by another one. The first walk has begun from the start.
  void begin() noexcept { word_.fetch_add(one_under_way, relaxed); }

  /// A walk ends from which others took `children` nodes: less than none where it has run what another walk at the same
  /// worker context had left there, which waits meanwhile. True when all is over.
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
