// braid/sync/detail/caller.hpp: which thread calls, as a number that can be compared.
#pragma once

#include <braid/sync/atomic.hpp>

#include <pthread.h>

namespace braid::detail {

using thread_mark = ::pthread_t;

/// Returns a number that differs between the threads that live; in the model build, between the threads of the run.
[[nodiscard]] inline auto calling_thread() noexcept -> thread_mark {
#if defined(BRAID_MODEL)
  if (model_active()) return model_thread();
#endif
  return ::pthread_self();
}

}  // namespace braid::detail
