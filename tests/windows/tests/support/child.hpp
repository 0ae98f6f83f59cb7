// tests/windows/tests/support/child.hpp: refuses to run code in a child process, because Windows has no fork.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

#define SIGPIPE SIGTERM  // Windows has no SIGPIPE: a test that resets its action resets another one

namespace braid::testing {

/// How a child process ended, and what it wrote to stderr.
struct child_end {
  int signal = 0;
  int status = 0;
  std::string errors;
};

/// Throws. tests/windows.txt lists the cases that need a child.
template <typename Fn>
auto run_in_child(Fn&& /*fn*/) -> child_end {
  throw std::runtime_error("Windows has no fork");
}

}  // namespace braid::testing
