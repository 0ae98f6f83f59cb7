// src/platform/posix/dump_signal.cpp: runs a thread that writes a dump for each SIGQUIT. The signal handler only counts
// the signals.
#include "../../coro/dump_signal.hpp"
#include "../../thread/thread_calls.hpp"
#include "../system.hpp"
#include "signal_count.hpp"

#include <braid/coro/dump.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

namespace braid::detail {
namespace {

void signalled(int /*number*/) {
  const int before = errno;
  count_signal();
  errno = before;
}

auto write_dumps(void* /*nothing*/) -> void* {
  static_cast<void>(write_own_name("braid-dump"));
  while (true) {
    wait_for_signal();
    try {
      const std::string text = "braid: tasks of process " + std::to_string(::getpid()) + "\n" + dump().to_text();
      static_cast<void>(write_whole(STDERR_FILENO, text));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "braid: the tasks cannot be dumped: %s\n", error.what());
    }
  }
}

/// Starts the thread that handles SIGQUIT. The thread does nothing else, so it can always handle the signal.
auto start_dump_thread() noexcept -> bool {
  ::pthread_t made{};
  const int error = start_without_signals(made, &write_dumps, nullptr, SIGQUIT);
  if (error == 0) ::pthread_detach(made);
  return error == 0;
}

/// Restores the default action of SIGQUIT in the child of a fork, which has no dump thread.
void forget_signal_in_child() noexcept { std::signal(SIGQUIT, SIG_DFL); }

}  // namespace

void begin_dumps_by_signal() noexcept {
  const char* const value = trusted_environment("BRAID_DUMP");
  if (value == nullptr || value[0] == 0) return;
  if (std::string_view(value) != "quit") {
    std::fprintf(stderr, "braid: BRAID_DUMP is ignored: it must be quit, got \"%s\"\n", value);
    return;
  }
  if (!begin_signal_count() || !start_dump_thread()) {
    std::fprintf(stderr, "braid: BRAID_DUMP is ignored: its thread cannot be started\n");
    return;
  }
  struct sigaction action{};
  action.sa_handler = &signalled;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGQUIT, &action, nullptr);
  ::pthread_atfork(nullptr, nullptr, &forget_signal_in_child);
}

}  // namespace braid::detail
