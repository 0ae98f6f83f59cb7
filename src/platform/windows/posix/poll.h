// src/platform/windows/posix/poll.h: declares poll(2) for the numbers of sockets. It calls WSAPoll.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <ctime>

/// As `pollfd` of POSIX. The structure of this name in winsock2.h contains a SOCKET.
struct posix_pollfd {
  int fd;
  short events;
  short revents;
};
#define pollfd posix_pollfd

#define POLLRDHUP 0  // Windows reports the end of a stream as POLLHUP

using nfds_t = std::size_t;

/// As poll(2). WSAPoll has milliseconds, so `ppoll` rounds its timeout up. The signal mask must be null.
auto poll(posix_pollfd* items, nfds_t count, int timeout_ms) noexcept -> int;
auto ppoll(posix_pollfd* items, nfds_t count, const timespec* timeout, const void* mask) noexcept -> int;
