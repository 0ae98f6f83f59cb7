// braid/sync/detail/contention.hpp: counts, for each worker, its failed compare-exchanges on shared queues and its
// heavy barriers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// Counters that one thread at a time writes. Any thread may read them.
struct contention_counts {
  atomic<std::uint64_t> lost_exchanges{0};  ///< compare-exchanges of queues that another thread won
  atomic<std::uint64_t> heavy_barriers{0};  ///< heavy sides of asymmetric barriers that interrupted the processors
};

/// The counters of the calling thread, or null if the thread is not a worker.
extern BRAID_API constinit thread_local contention_counts* contention_of_thread
    __attribute__((tls_model("initial-exec")));

inline void count_contention(atomic<std::uint64_t> contention_counts::* counter) noexcept {
  if (contention_counts* const counts = contention_of_thread; counts != nullptr)
    (counts->*counter).store((counts->*counter).load(relaxed) + 1, relaxed);
}

/// Counts a failed compare-exchange. The function is not inlined, so that it adds no cost to an exchange that succeeds.
/// After a failed exchange, the call is cheap compared with the cache miss that the exchange has caused.
[[gnu::noinline, gnu::cold]] inline void note_lost_exchange() noexcept {
  count_contention(&contention_counts::lost_exchanges);
}

}  // namespace braid::detail
