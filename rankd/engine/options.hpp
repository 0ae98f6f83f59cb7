// rankd/engine/options.hpp: the options that determine how an engine runs plans.
#pragma once

#include <rankd/engine/caching/row_cache.hpp>
#include <rankd/store/record_cache.hpp>

#include <braid/base/clock.hpp>

#include <cstdint>
#include <memory>

namespace rankd {

class page_cursors;

/// States which nodes of a request may run at the same time.
enum class run_order : std::uint8_t {
  side_by_side,  ///< all nodes that are ready
  one_by_one,    ///< one node at a time, on the loop, in the order of the plan; for measuring what `side_by_side` gains
};

/// States whether rankings contain measurements of all nodes of their plan, even if the request does not ask for an
/// explanation.
enum class node_metrics : std::uint8_t { none, collected };

enum class budget_times : std::uint8_t;

/// States whether rankings contain the rows that nodes of their plans capture.
enum class plan_captures : std::uint8_t { ignored, taken };

/// The options of an engine. They never change the bytes of answers, unless time runs out or a cached store changes.
struct engine_options {
  braid::duration node_timeout = braid::duration::max();  ///< the time limit of each node; max: no limit
  /// The maximum computing time of a node that runs on the loop. A node that is expected to need more time runs on the
  /// workers. For a shorter node, the move to a worker would cost more than it saves.
  double max_inline_ns = 20'000;
  /// The approximate computing time of one parallel part. If a node has several parts, idle workers process them in
  /// parallel.
  double part_ns = 50'000;
  run_order order = run_order::side_by_side;
  budget_times times{};  ///< whether the times of budgets are applied
  node_metrics metrics = node_metrics::none;
  plan_captures captures = plan_captures::ignored;
  std::shared_ptr<const page_cursors> cursors = {};  ///< for the pages of rankings; null if plans cannot issue cursors
  cache_options cache = {};                          ///< the cache for rows of nodes whose plans ask for it
  record_cache_options records = {};                 ///< the cache for values from stores without local files
  std::uint32_t timed_of = 1;  ///< if metrics are on, one of this many requests is timed; at least 1
};

}  // namespace rankd
