// braid/sync/atomic.hpp: the atomic type of the library, and short names for the memory orders.
#pragma once

#include <atomic>

#if defined(BRAID_MODEL)
#include <braid/sync/detail/model_atomic.hpp>
#endif

namespace braid {

/// The order for accesses that must only be ordered with accesses to the same atomic.
inline constexpr auto relaxed = std::memory_order_relaxed;
/// The order for a load. If the load reads the value of a release store, everything that was written before that store
/// is visible after the load.
inline constexpr auto acquire = std::memory_order_acquire;
/// The order for a store. Everything that was written before the store is visible after an acquire load that reads the
/// stored value.
inline constexpr auto release = std::memory_order_release;
/// The order for an operation that reads and writes: the read acquires and the write releases.
inline constexpr auto acq_rel = std::memory_order_acq_rel;
/// The order that acquires and releases. In addition, all operations with this order take place in one total order.
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// The atomic type: std::atomic, except in the model build, in which the explorer decides at each access which thread
/// continues. Every call states its memory order. Every call with an order stronger than relaxed has a comment with the
/// name of its edge, so that both ends of the edge can be found (tools/check_edges).
#if defined(BRAID_MODEL)
template <typename T>
using atomic = detail::model_atomic<T>;
#else
template <typename T>
using atomic = std::atomic<T>;
#endif

}  // namespace braid
