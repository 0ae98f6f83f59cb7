// src/runtime/pool_watch.hpp: provides metrics and stall watchdogs of pools without a runtime, for BRAID_TOP and
// BRAID_STALL.
#pragma once

#include <braid/trace/detail/metric_source.hpp>

namespace braid::detail {

/// A guard that a runtime holds while it creates its pool. Pools that the calling thread creates while the guard exists
/// are not added to the list of pools that report their own metrics, because their runtime reports these metrics.
class pools_of_runtime {
 public:
  pools_of_runtime() noexcept;
  pools_of_runtime(const pools_of_runtime&) = delete;
  auto operator=(const pools_of_runtime&) -> pools_of_runtime& = delete;
  ~pools_of_runtime();
};

/// Adds the metrics of all pools that belong to no runtime.
/// Threads: any. Blocks: while such a pool is created or destroyed. Errors: std::bad_alloc.
void add_metrics_of_pools(metric_list& metrics);

}  // namespace braid::detail
