// braid/sync/detail/caller.hpp: identifies the calling thread by a number, so that threads can be compared.
#pragma once

#include <braid/sync/atomic.hpp>

#include <pthread.h>

namespace braid::detail {

using thread_mark = ::pthread_t;

/// Returns a number that no other existing thread has. In the model build, the number is unique among the threads of
/// the run.
[[nodiscard]] inline auto calling_thread() noexcept -> thread_mark {
#if defined(BRAID_MODEL)
  if (model_active()) return model_thread();
#endif
  return ::pthread_self();
}

}  // namespace braid::detail
