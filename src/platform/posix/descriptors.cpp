// src/platform/posix/descriptors.cpp: implements the calls of descriptors.hpp that are the same on all POSIX systems.
#include "../descriptors.hpp"
#include "broken_pipe.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {

void raise_event(int number) noexcept {
  const std::uint64_t one = 1;
  // The write fails only if the counter or the pipe is full. In that case the event is already raised.
  [[maybe_unused]] const auto written = ::write(number, &one, sizeof(one));
}

/// Clears the event with one read. An eventfd is empty afterwards. A pipe may hold more bytes; it then stays readable,
/// and the next call reads these bytes.
void clear_event(int number) noexcept {
  std::array<std::uint64_t, 64> raised{};
  [[maybe_unused]] const auto read = ::read(number, raised.data(), sizeof(raised));
}

void close_descriptor(int number) noexcept {
  ::close(number);  // not repeated after EINTR, because the system has closed the descriptor by then
}

auto set_non_blocking(int number) noexcept -> int {
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0 || ::fcntl(number, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
  return ::fcntl(number, F_SETFD, FD_CLOEXEC);
}

auto check_can_wait(int number) noexcept -> int {
  struct stat about{};
  if (::fstat(number, &about) != 0) return -1;
  if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) return 0;
  errno = EPERM;
  return -1;
}

auto open_reserve() noexcept -> int { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

auto read_parts(int number, const iovec* parts, int count) noexcept -> ssize_t { return ::readv(number, parts, count); }

/// Calls writev(2), and suppresses the SIGPIPE that EPIPE would send to the thread. If SIGPIPE was already pending
/// before the call, it stays pending.
auto write_parts(int number, const iovec* parts, int count) noexcept -> ssize_t {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe);  // a macro on macOS
  sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ::ssize_t written = ::writev(number, parts, count);
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) discard_broken_pipe_signal();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace braid::detail
