// tests/support/child.hpp: runs code that is expected to end the process, in a process of its own.
#pragma once

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

/// How a child process ended, and what it wrote to stderr.
struct child_end {
  int signal = 0;  ///< that killed it, or 0
  int status = 0;  ///< it exited with, where no signal killed it
  std::string errors;
};

/// Calls `fn` in a fork of this process, which then exits with status 0. The process must have one thread.
template <typename Fn>
auto run_in_child(Fn&& fn) -> child_end {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe can be made");
  const ::pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process can be made");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no child that hangs outlives the test that its watchdog ends
    std::signal(SIGABRT, SIG_DFL);       // the test framework has a handler of its own
    ::dup2(pipe[1], 2);
    ::close(pipe[0]);
    fn();
    ::_exit(0);
  }
  ::close(pipe[1]);
  child_end end;
  std::array<char, 4096> buffer{};
  for (::ssize_t got = 0; (got = ::read(pipe[0], buffer.data(), buffer.size())) > 0;)
    end.errors.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  return end;
}

}  // namespace braid::testing
