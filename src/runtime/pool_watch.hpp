// src/runtime/pool_watch.hpp: pools that programs make without a runtime, as BRAID_TOP and BRAID_STALL see them.
#pragma once

#include <braid/trace/detail/metric_source.hpp>

namespace braid::detail {

/// While it lives, pools that the calling thread makes are parts of a runtime, which reports them itself.
class pools_of_runtime {
 public:
  pools_of_runtime() noexcept;
  pools_of_runtime(const pools_of_runtime&) = delete;
  auto operator=(const pools_of_runtime&) -> pools_of_runtime& = delete;
  ~pools_of_runtime();
};

/// Adds the metrics of all pools that belong to no runtime. Threads: any. Blocks: while such a pool begins or ends.
/// Errors: std::bad_alloc.
void add_metrics_of_pools(metric_list& metrics);

}  // namespace braid::detail
