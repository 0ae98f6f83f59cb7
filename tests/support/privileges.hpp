// tests/support/privileges.hpp: taking from a process what lets it change policies, for tests of refusals.
#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace braid::testing {

/// For a process that ends soon. Afterwards real-time policies and smaller nice values are refused, whoever started it.
inline void give_up_privileges() {
  const ::rlimit none{.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(::setrlimit(RLIMIT_RTPRIO, &none));
  static_cast<void>(::setrlimit(RLIMIT_NICE, &none));
  constexpr ::uid_t nobody = 65534;
  if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
  ::prctl(PR_SET_DUMPABLE, 1);  // or the files of /proc stay those of root
}

}  // namespace braid::testing
