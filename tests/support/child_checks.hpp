// tests/support/child_checks.hpp: checks in a child process, which the test framework of the parent does not see.
#pragma once

#include <cstdio>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

/// Ends the process with status 1 and names the line on stderr, unless it holds.
inline void must(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d is wrong\n", line);
  ::_exit(1);
}

/// Returns the wait status of a fork that calls `fn` and exits with 0. A child that hangs ends by SIGALRM.
template <typename Fn>
auto status_of_fork(Fn fn) -> int {
  const ::pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    ::alarm(60);
    fn();
    ::_exit(0);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace braid::testing
