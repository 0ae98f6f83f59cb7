// tests/support/privileges.hpp: what this process may do to its threads, and taking that from it.
#pragma once

#include <braid/thread/this_thread.hpp>

#include <thread>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace braid::testing {

/// For a process that ends soon. Afterwards real-time policies and smaller nice values are refused, also where root
/// started it.
inline void give_up_privileges() {
  const ::rlimit none{.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(::setrlimit(RLIMIT_RTPRIO, &none));
  static_cast<void>(::setrlimit(RLIMIT_NICE, &none));
  constexpr ::uid_t nobody = 65534;
  if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
  ::prctl(PR_SET_DUMPABLE, 1);  // or the files of /proc stay those of root
}

/// Whether the system lets threads change settings that need no privilege. Some containers refuse even that; a test
/// that needs it then returns.
inline auto settings_can_change() -> bool {
  static const bool answer = [] {
    bool changed = false;
    std::thread([&changed] {
      const nice_value nice = this_thread::nice().value_or(nice_value());
      changed = this_thread::set_affinity(this_thread::affinity().value_or(cpu_set())) && this_thread::set_nice(nice) &&
                this_thread::set_scheduling(scheduling::batch{nice});
    }).join();
    return changed;
  }();
  return answer;
}

}  // namespace braid::testing
