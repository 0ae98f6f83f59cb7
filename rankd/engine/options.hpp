// rankd/engine/options.hpp: how an engine runs its plans.
#pragma once

#include <rankd/engine/caching/row_cache.hpp>
#include <rankd/store/record_cache.hpp>

#include <braid/base/clock.hpp>

#include <cstdint>
#include <memory>

namespace rankd {

class page_cursors;

/// Which nodes of a request may run at the same time.
enum class run_order : std::uint8_t {
  side_by_side,  ///< all that are ready
  one_by_one,    ///< one, on the loop, in the order of the plan: to measure the gain of the other order
};

/// Whether rankings report about all nodes of their plan, in addition to what a request wants explained.
enum class node_metrics : std::uint8_t { none, collected };

/// Whether rankings contain the rows that nodes of their plans capture.
enum class plan_captures : std::uint8_t { ignored, taken };

/// Options never change the bytes of answers, as long as no time runs out and, if there are caches, the stores do not
/// change.
struct engine_options {
  braid::duration node_timeout = braid::duration::max();  ///< for each node; max: no limit
  /// A node that is expected to compute for longer than this runs on the workers; for a shorter one the handover costs
  /// too much.
  double max_inline_ns = 20'000;
  /// The approximate time of one part; idle workers share a node that has several.
  double part_ns = 50'000;
  run_order order = run_order::side_by_side;
  node_metrics metrics = node_metrics::none;
  plan_captures captures = plan_captures::ignored;
  std::shared_ptr<const page_cursors> cursors = {};  ///< of pages; null if plans cannot issue cursors
  cache_options cache = {};                          ///< of rows of nodes whose plans ask for it
  record_cache_options records = {};                 ///< of values that stores without files have answered
  std::uint32_t timed_of = 1;                        ///< with metrics: one of this many requests is timed; at least 1
};

}  // namespace rankd
