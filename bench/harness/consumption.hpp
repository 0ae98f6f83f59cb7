// bench/harness/consumption.hpp: what the threads of the process have taken of the machine, but for the one that
// measures.
#pragma once

#include <cstdint>

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

inline auto consumption_of(int whose) -> consumption {
  ::rusage read{};
  ::getrusage(whose, &read);
  const auto ns = [](const ::timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return {ns(read.ru_utime) + ns(read.ru_stime), read.ru_nvcsw};
}

}  // namespace detail

inline auto consumption_of_this_thread() -> consumption { return detail::consumption_of(RUSAGE_THREAD); }
inline auto consumption_of_other_threads() -> consumption {
  const consumption own = consumption_of_this_thread();  // read first, so that a difference is not below zero
  return detail::consumption_of(RUSAGE_SELF) - own;
}

}  // namespace bench
