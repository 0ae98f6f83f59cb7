// braid/graph/critical_path.hpp: which nodes of a run decided how long it took, from the times of all.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/graph/shape.hpp>

#include <span>
#include <vector>

namespace braid {

/// When one node of a run could begin, began and ended. One that did not begin has none of the three.
struct node_times {
  static constexpr time_point never = time_point::min();

  time_point ready = never;    ///< the last of its predecessors had ended
  time_point started = never;  ///< on whatever thread it ran
  time_point ended = never;

  [[nodiscard]] auto has_run() const noexcept -> bool { return ended != never; }
  /// How long it waited for a thread, after everything else was there. Requires that it has run.
  [[nodiscard]] auto queue() const noexcept -> duration { return started - ready; }
  [[nodiscard]] auto run() const noexcept -> duration { return ended - started; }

  auto operator==(const node_times&) const -> bool = default;
};

/// One node of a critical path.
struct critical_step {
  node_index node;
  duration queue;  ///< from the end of the step before, or the begin of the run, to its start
  duration run;

  auto operator==(const critical_step&) const -> bool = default;
};

/// The nodes that had to be quicker for the run to be: the node that ended last, before it the predecessor that it
/// waited for longest, and so on back to the begin; first to last. The steps leave no gap: their times add up to the
/// time from `begin` to the last end. Of several that ended at once the one that stands first in the order is taken.
/// Requires a time for each node. Cost: goes once through all edges.
[[nodiscard]] BRAID_API auto critical_path(const graph_shape& shape, time_point begin,
                                           std::span<const node_times> times) -> std::vector<critical_step>;

}  // namespace braid
