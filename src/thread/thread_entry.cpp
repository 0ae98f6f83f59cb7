// src/thread/thread_entry.cpp: a registered thread by its id, checked against reuse of the id.
#include <braid/thread/registry.hpp>

#include <ratio>

#include <unistd.h>

namespace braid {

/// The system may have given the id to another thread. That one started after the registration, which the registered
/// thread was alive for: so the start needs not be known when a thread is registered, which would cost files to read.
auto thread_entry::control() const -> result<thread_info> {
  const auto thread = thread_info::of(tid);
  if (!thread) return thread;
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const std::chrono::nanoseconds started(thread->start_ticks() * (std::nano::den / per_second));
  if (started > registered_at) return fail(std::make_error_code(std::errc::no_such_process));
  return thread;
}

}  // namespace braid
