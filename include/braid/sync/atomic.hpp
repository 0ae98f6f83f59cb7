// braid/sync/atomic.hpp: the atomic type of the library, and short names for the memory orders.
#pragma once

#include <atomic>

#if defined(BRAID_MODEL)
#include <braid/sync/detail/model_atomic.hpp>
#endif

namespace braid {

/// Orders nothing but the accesses of one atomic.
inline constexpr auto relaxed = std::memory_order_relaxed;
/// For a load: everything that was written before the release that it reads from is visible after it.
inline constexpr auto acquire = std::memory_order_acquire;
/// For a store: everything that was written before it is visible after an acquire that reads it.
inline constexpr auto release = std::memory_order_release;
/// Both, of an operation that reads and writes.
inline constexpr auto acq_rel = std::memory_order_acq_rel;
/// Both, and one total order of all such operations.
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// std::atomic, except in the model build, in which each access asks the explorer which thread continues. Every call
/// names its order; every order above relaxed names its edge, and both ends of the edge can be found
/// (tools/check_edges).
#if defined(BRAID_MODEL)
template <typename T>
using atomic = detail::model_atomic<T>;
#else
template <typename T>
using atomic = std::atomic<T>;
#endif

}  // namespace braid
