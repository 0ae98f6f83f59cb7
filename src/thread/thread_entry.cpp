// src/thread/thread_entry.cpp: finds a registered thread by its id, and detects an id that was reused.
#include <braid/thread/registry.hpp>

#include "thread_calls.hpp"

#include <ratio>

namespace braid {

/// Returns an object that controls the thread, or an error if the thread has ended and the system has reused its id. A
/// new thread with this id must have started after the registration, so it is sufficient to compare the thread's start
/// time with the time of the registration. So the start time need not be read at registration, which would cost file
/// accesses.
auto thread_entry::control() const -> result<thread_info> {
  const auto thread = thread_info::of(tid);
  if (!thread) return thread;
  const std::chrono::nanoseconds started(thread->start_ticks() * (std::nano::den / detail::start_ticks_per_second()));
  if (started > registered_at) return fail(std::make_error_code(std::errc::no_such_process));
  return thread;
}

}  // namespace braid
