// bench/harness/consumption.hpp: what the threads of the process have taken of the machine, but for the one that
// measures.
#pragma once

#include <cstdint>
#include <ctime>

#include <sys/resource.h>

namespace bench {

/// Up to now, or between two moments.
struct consumption {
  double cpu_ns = 0;
  std::int64_t sleeps = 0;  ///< how often a thread has blocked

  friend auto operator-(consumption later, consumption earlier) -> consumption {
    return {later.cpu_ns - earlier.cpu_ns, later.sleeps - earlier.sleeps};
  }
};

namespace detail {

/// The time is that of the clock, because what the system says of the process is estimated from ticks.
inline auto consumption_of(int whose, ::clockid_t clock) -> consumption {
  ::rusage read{};
  ::getrusage(whose, &read);
  ::timespec time{};
  ::clock_gettime(clock, &time);
  return {static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec), read.ru_nvcsw};
}

}  // namespace detail

inline auto consumption_of_this_thread() -> consumption {
  return detail::consumption_of(RUSAGE_THREAD, CLOCK_THREAD_CPUTIME_ID);
}
inline auto consumption_of_other_threads() -> consumption {
  const consumption own = consumption_of_this_thread();  // read first, so that a difference is not below zero
  return detail::consumption_of(RUSAGE_SELF, CLOCK_PROCESS_CPUTIME_ID) - own;
}

}  // namespace bench
