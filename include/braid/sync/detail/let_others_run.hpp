// braid/sync/detail/let_others_run.hpp: what a loop calls that waits for a few steps of another thread.
#pragma once

#include <braid/sync/atomic.hpp>

#include <thread>

namespace braid::detail {

/// Yields the processor for a moment; in the model build, the turn.
inline void let_others_run() noexcept {
#if defined(BRAID_MODEL)
  if (model_active()) return model_yield();
#endif
  std::this_thread::yield();
}

}  // namespace braid::detail
