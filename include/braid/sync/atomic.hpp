// braid/sync/atomic.hpp: the atomic type of the library, and short names for the memory orders.
#pragma once

#include <atomic>

#if defined(BRAID_MODEL)
#include <braid/sync/detail/model_atomic.hpp>
#endif

namespace braid {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// std::atomic, except in the model build, where every access asks the explorer which thread goes on. Every call names
/// its order; every order above relaxed names its edge, with both ends findable (tools/check_edges).
#if defined(BRAID_MODEL)
template <typename T>
using atomic = detail::model_atomic<T>;
#else
template <typename T>
using atomic = std::atomic<T>;
#endif

}  // namespace braid
