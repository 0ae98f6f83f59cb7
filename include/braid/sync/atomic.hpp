// braid/sync/atomic.hpp: the atomic type of the library, and short names for the memory orders.
#pragma once

#include <atomic>

#if defined(BRAID_MODEL)
#include <braid/sync/detail/model_atomic.hpp>
#endif

namespace braid {

/// Orders only the accesses to the same atomic.
inline constexpr auto relaxed = std::memory_order_relaxed;
/// For a load: if it reads the value of a release store, everything that was written before that store is visible after
/// the load.
inline constexpr auto acquire = std::memory_order_acquire;
/// For a store: everything that was written before the store is visible after an acquire load that reads the stored
/// value.
inline constexpr auto release = std::memory_order_release;
/// Acquire and release, for an operation that reads and writes.
inline constexpr auto acq_rel = std::memory_order_acq_rel;
/// Acquire and release, and additionally one total order of all such operations.
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// std::atomic, except in the model build, in which the explorer decides at each access which thread continues. Every
/// call names its memory order. Every order above relaxed names its edge, so that both ends of the edge can be found
/// (tools/check_edges).
#if defined(BRAID_MODEL)
template <typename T>
using atomic = detail::model_atomic<T>;
#else
template <typename T>
using atomic = std::atomic<T>;
#endif

}  // namespace braid
