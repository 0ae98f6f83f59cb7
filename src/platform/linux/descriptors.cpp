// src/platform/linux/descriptors.cpp: implements the calls of descriptors.hpp that are specific to Linux.
#include "../descriptors.hpp"
#include "../posix/broken_pipe.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {

auto open_event() noexcept -> event_numbers {
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event >= 0) return {.read = event};
  if (errno == EMFILE || errno == ENFILE) return {};
  std::array<int, 2> ends{};
  if (open_pipe(ends, blocking_mode::non_blocking) != 0) return {};
  return {.read = ends[0], .write = ends[1]};
}

auto open_socket(int family, int type) noexcept -> int {
  return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

auto open_socket_pair(std::array<int, 2>& ends) noexcept -> int {
  return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data());
}

auto accept_connection(int listener) noexcept -> int {
  return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

auto open_pipe(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int {
  return ::pipe2(ends.data(), O_CLOEXEC | (mode == blocking_mode::blocking ? 0 : O_NONBLOCK));
}

auto poll_exactly(::pollfd* polled, std::size_t count, const ::timespec* timeout) noexcept -> int {
  return ::ppoll(polled, count, timeout, nullptr);
}

auto count_waiting_connections(int listener) noexcept -> std::optional<std::size_t> {
  ::tcp_info seen{};
  ::socklen_t size = sizeof(seen);
  if (::getsockopt(listener, IPPROTO_TCP, TCP_INFO, &seen, &size) != 0) return std::nullopt;
  if (seen.tcpi_state == TCP_LISTEN) return seen.tcpi_unacked;  // for a listener, the number of waiting connections
  errno = ENOTSUP;
  return std::nullopt;
}

void discard_broken_pipe_signal() noexcept {
  ::sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  constexpr ::timespec at_once{.tv_sec = 0, .tv_nsec = 0};
  ::sigtimedwait(&pipe, nullptr, &at_once);
}

auto change_time(const struct ::stat& about) noexcept -> ::timespec { return about.st_mtim; }

}  // namespace braid::detail
