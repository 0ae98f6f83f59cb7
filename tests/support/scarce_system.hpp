// tests/support/scarce_system.hpp: takes descriptors, threads and stack from a process that ends soon.
#pragma once

#include <tests/support/sanitizer.hpp>

#include <csignal>
#include <cstddef>

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// Each is for a child of `run_in_child`, whose parent sees how it ended.

namespace braid::testing {

/// From now on no descriptor with that number or a greater one can be had.
inline void limit_descriptors(unsigned count) {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(99);
}

/// How many descriptors with smaller numbers are open. Opens none itself.
inline auto descriptors_below(unsigned end) -> unsigned {
  unsigned open = 0;
  for (unsigned number = 0; number < end; ++number) open += ::fcntl(static_cast<int>(number), F_GETFD) >= 0 ? 1 : 0;
  return open;
}

/// Closes what the parent had open.
inline void close_descriptors_from(unsigned first) { ::close_range(first, ~0U, 0); }

/// Whether `limit_threads` has an effect: the system does not count what root has, so that a process must be able to
/// become another user, one that has no other process. Sanitizers have threads of their own.
inline auto threads_can_be_limited() -> bool { return ::geteuid() == 0 && !under_thread_sanitizer; }

/// From now on the process has so many threads beside the calling one at most. Again: only for as many or more.
inline void limit_threads(unsigned more) {
  const ::rlimit limit{.rlim_cur = more + 1, .rlim_max = 1000};
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(99);
  constexpr ::uid_t nobodies = 1'000'000'000;  // with a number for each process
  if (::geteuid() == 0 && ::setuid(nobodies + static_cast<::uid_t>(::getpid())) != 0) ::_exit(99);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // which another user does not keep
}

/// The stacks of threads that are made from now on, where nothing else is asked for.
inline void limit_stacks(std::size_t bytes) {
  ::pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  if (::pthread_attr_setstacksize(&attributes, bytes) != 0 || ::pthread_setattr_default_np(&attributes) != 0)
    ::_exit(99);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace braid::testing
