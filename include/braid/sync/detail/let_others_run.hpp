// braid/sync/detail/let_others_run.hpp: yields the processor in loops that wait for a few steps of another thread.
#pragma once

#include <braid/sync/atomic.hpp>

#include <thread>

namespace braid::detail {

/// Yields the processor. In the model build, lets another thread of the run continue.
inline void let_others_run() noexcept {
#if defined(BRAID_MODEL)
  if (model_active()) return model_yield();
#endif
  std::this_thread::yield();
}

}  // namespace braid::detail
