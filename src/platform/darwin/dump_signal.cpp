// src/platform/darwin/dump_signal.cpp: counts signals by the bytes in a pipe, because macOS has no unnamed semaphores.
#include "../posix/signal_count.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace braid::detail {
namespace {

std::array<int, 2> ends{-1, -1};  // of the pipe: to read, and to write

}  // namespace

auto begin_signal_count() noexcept -> bool {
  if (::pipe(ends.data()) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // a full pipe must not block the handler; thousands of signals are enough
  return true;
}

void count_signal() noexcept {
  const char signal = 0;
  static_cast<void>(::write(ends[1], &signal, 1));
}

void wait_for_signal() noexcept {
  char signal = 0;
  while (::read(ends[0], &signal, 1) != 1) {}
}

}  // namespace braid::detail
