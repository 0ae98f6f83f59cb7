// rankd/engine/options.hpp: how an engine runs its plans.
#pragma once

#include <rankd/engine/caching/row_cache.hpp>

#include <braid/base/clock.hpp>

#include <cstdint>
#include <memory>

namespace rankd {

class page_cursors;

/// Which nodes of a request may run at the same time.
enum class run_order : std::uint8_t {
  side_by_side,  ///< all that are ready
  one_by_one,    ///< one, on the loop, in the order of the plan: to see what the other way gains
};

/// What rankings report of the nodes of their plan, besides what a request wants explained.
enum class node_metrics : std::uint8_t { none, collected };

/// What rankings have of the rows that nodes of their plans capture.
enum class plan_captures : std::uint8_t { ignored, taken };

/// Answers are the same bytes whatever the options, as long as no time runs out, and, where there is a cache, stores
/// keep what they have.
struct engine_options {
  braid::duration node_timeout = braid::duration::max();  ///< for each node; max: none
  /// A node that is expected to compute for longer than this goes to the workers; a shorter one is not worth the way.
  double max_inline_ns = 20'000;
  /// About as long as this is computed in one part; a node that takes several is shared among idle workers.
  double part_ns = 50'000;
  run_order order = run_order::side_by_side;
  node_metrics metrics = node_metrics::none;
  plan_captures captures = plan_captures::ignored;
  std::shared_ptr<const page_cursors> cursors = {};  ///< of pages; null where no plan can give any
  cache_options cache = {};                          ///< of rows of nodes whose plans want that
  std::uint32_t timed_of = 1;  ///< with figures: the times of one request in so many are taken; at least 1
};

}  // namespace rankd
