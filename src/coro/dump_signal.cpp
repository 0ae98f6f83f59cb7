// src/coro/dump_signal.cpp: a thread that writes a dump for each SIGQUIT; the handler only posts a semaphore.
#include "dump_signal.hpp"

#include <braid/coro/dump.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace braid::detail {
namespace {

::sem_t signals;  // one for each signal

void signalled(int /*number*/) {
  const int before = errno;
  ::sem_post(&signals);
  errno = before;
}

void write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ::ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

auto write_dumps(void* /*nothing*/) -> void* {
  ::prctl(PR_SET_NAME, "braid-dump");
  while (true) {
    while (::sem_wait(&signals) != 0) {}
    try {
      write_all("braid: tasks of process " + std::to_string(::getpid()) + "\n" + dump().to_text());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "braid: the tasks cannot be dumped: %s\n", error.what());
    }
  }
}

/// Starts the thread that handles SIGQUIT. The thread does nothing else, so it can always handle the signal.
auto start_dump_thread() noexcept -> bool {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::sigdelset(&all, SIGQUIT);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ::pthread_t made{};
  const int error = ::pthread_create(&made, nullptr, &write_dumps, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) ::pthread_detach(made);
  return error == 0;
}

/// Restores the default action of SIGQUIT in the child of a fork, which has no dump thread.
void forget_signal_in_child() noexcept { std::signal(SIGQUIT, SIG_DFL); }

}  // namespace

void begin_dumps_by_signal() noexcept {
  const char* const value = ::secure_getenv("BRAID_DUMP");
  if (value == nullptr || value[0] == 0) return;
  if (std::string_view(value) != "quit") {
    std::fprintf(stderr, "braid: BRAID_DUMP is ignored: it must be quit, got \"%s\"\n", value);
    return;
  }
  ::sem_init(&signals, 0, 0);
  if (!start_dump_thread()) {
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
