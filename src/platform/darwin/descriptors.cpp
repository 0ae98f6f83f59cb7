// src/platform/darwin/descriptors.cpp: implements the calls of descriptors.hpp that are specific to macOS. On macOS,
// the modes of a descriptor can be set only after it was opened. A child process that another thread starts between the
// two calls inherits the descriptor.
#include "../descriptors.hpp"
#include "../posix/broken_pipe.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {
namespace {

/// Sets the modes of a descriptor. If that fails, closes the descriptor and returns false with `errno`.
auto set_modes(int number, blocking_mode mode) noexcept -> bool {
  const bool is_private = ::fcntl(number, F_SETFD, FD_CLOEXEC) != -1;
  const int flags = ::fcntl(number, F_GETFL);
  const int wanted = mode == blocking_mode::blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  if (is_private && flags != -1 && ::fcntl(number, F_SETFL, wanted) != -1) return true;
  const int error = errno;
  ::close(number);
  errno = error;
  return false;
}

auto set_modes(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int {
  if (!set_modes(ends[0], mode)) {
    const int error = errno;
    ::close(ends[1]);
    errno = error;
    return -1;
  }
  if (set_modes(ends[1], mode)) return 0;
  const int error = errno;
  ::close(ends[0]);
  errno = error;
  return -1;
}

/// Sets the modes of a descriptor and returns its number. If that fails, returns -1 with `errno`.
auto prepared(int number) noexcept -> int {
  return number >= 0 && set_modes(number, blocking_mode::non_blocking) ? number : -1;
}

}  // namespace

auto open_socket(int family, int type) noexcept -> int { return prepared(::socket(family, type, 0)); }

auto open_socket_pair(std::array<int, 2>& ends) noexcept -> int {
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return -1;
  return set_modes(ends, blocking_mode::non_blocking);
}

auto open_pipe(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int {
  if (::pipe(ends.data()) != 0) return -1;
  return set_modes(ends, mode);
}

auto accept_connection(int listener) noexcept -> int { return prepared(::accept(listener, nullptr, nullptr)); }

/// macOS has no eventfd(2).
auto open_event() noexcept -> event_numbers {
  std::array<int, 2> ends{};
  if (open_pipe(ends, blocking_mode::non_blocking) != 0) return {};
  return {.read = ends[0], .write = ends[1]};
}

auto poll_exactly(::pollfd* /*polled*/, std::size_t /*count*/, const ::timespec* /*timeout*/) noexcept -> int {
  errno = ENOSYS;
  return -1;
}

auto count_waiting_connections(int /*listener*/) noexcept -> std::optional<std::size_t> {
  errno = ENOTSUP;
  return std::nullopt;
}

/// macOS has no sigtimedwait. `sigwait` does not block, because the signal is pending.
void discard_broken_pipe_signal() noexcept {
  ::sigset_t pending;
  if (::sigpending(&pending) != 0 || sigismember(&pending, SIGPIPE) == 0) return;
  ::sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  int received = 0;
  ::sigwait(&pipe, &received);
}

auto change_time(const struct ::stat& about) noexcept -> ::timespec { return about.st_mtimespec; }

}  // namespace braid::detail
