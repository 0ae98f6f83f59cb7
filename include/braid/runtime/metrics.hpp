// braid/runtime/metrics.hpp: the metrics of one runtime and of what lives on its loops.
#pragma once

#include <braid/base/config.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/trace/metric.hpp>

#include <vector>

namespace braid {

/// All that is counted of `of`: of each worker, the pool's common queues, the blocking pool, each loop, and the HTTP
/// servers and Redis connections on the loops; and the memory of jobs, which all runtimes of the process share. What
/// each means is its `help`; the names are in docs/metrics.md. Values of one call are read one after the other, while
/// the counters go on.
/// Threads: any, while the runtime lives. Blocks: for short locks, of the blocking pool among others. Errors:
/// std::bad_alloc. Cost: about a microsecond for each worker and loop; counting goes on whether it is called or not.
[[nodiscard]] BRAID_API auto metrics(runtime& of) -> std::vector<metric>;

}  // namespace braid
