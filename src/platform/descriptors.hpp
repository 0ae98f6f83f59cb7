// src/platform/descriptors.hpp: declares what the layer io needs from the operating system for descriptors, beyond the
// socket functions of POSIX. Each system has a folder with an implementation. A function that fails sets `errno`.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <optional>

#include <poll.h>
#include <sys/types.h>
#include <sys/uio.h>

struct stat;

namespace braid::detail {

enum class blocking_mode : bool { non_blocking, blocking };

/// The descriptors of an event. Raising the event makes `read` readable until the event is cleared.
struct event_numbers {
  int read = -1;
  int write = -1;  // -1 if the event has one descriptor for both
};

/// Opens an event whose descriptors do not block. If the system refuses, both returned descriptors are -1.
[[nodiscard]] auto open_event() noexcept -> event_numbers;

/// Raises the event. `number` is the event's descriptor for writing. If the event is already raised, the call may have
/// no effect.
void raise_event(int number) noexcept;

/// Clears the event. `number` is the event's descriptor for reading. The descriptor may stay readable if the event was
/// raised often.
void clear_event(int number) noexcept;

/// Closes a descriptor.
void close_descriptor(int number) noexcept;

/// Makes a descriptor non-blocking, and sets its close-on-exec flag. Returns 0, or -1 after an error.
[[nodiscard]] auto set_non_blocking(int number) noexcept -> int;

// The next four functions open descriptors that child processes do not inherit. Unless the mode says otherwise, calls
// on these descriptors do not block. The four functions return a negative number after an error.

[[nodiscard]] auto open_socket(int family, int type) noexcept -> int;
[[nodiscard]] auto open_socket_pair(std::array<int, 2>& ends) noexcept -> int;
[[nodiscard]] auto accept_connection(int listener) noexcept -> int;
/// Opens a pipe. `ends` receives the end for reading and the end for writing.
[[nodiscard]] auto open_pipe(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int;

/// Returns 0 if the number is a descriptor that can be waited for, such as a pipe. Otherwise returns -1; `errno` is
/// EPERM for a regular file or a folder.
[[nodiscard]] auto check_can_wait(int number) noexcept -> int;

/// Opens a descriptor that serves only as a reserve. The caller closes it later to make room for another descriptor.
/// Returns -1 if the process has no free descriptor.
[[nodiscard]] auto open_reserve() noexcept -> int;

/// The next functions read from or write to a descriptor that is not a socket. They raise no SIGPIPE, and return the
/// number of bytes, or -1.
[[nodiscard]] auto read_parts(int number, const iovec* parts, int count) noexcept -> ssize_t;
[[nodiscard]] auto write_parts(int number, const iovec* parts, int count) noexcept -> ssize_t;

/// Calls poll(2) with a timeout in nanoseconds, which is null for no timeout. Returns -1 with ENOSYS if the system has
/// no such call.
[[nodiscard]] auto poll_exactly(::pollfd* polled, std::size_t count, const ::timespec* timeout) noexcept -> int;

/// Returns the number of connections that wait for `accept`, or nothing with `errno`. If the system does not count
/// these connections, `errno` is ENOTSUP, or EOPNOTSUPP on Windows, where the two numbers differ.
[[nodiscard]] auto count_waiting_connections(int listener) noexcept -> std::optional<std::size_t>;

/// Returns the time of the last change of a file's content.
[[nodiscard]] auto change_time(const struct ::stat& about) noexcept -> ::timespec;

}  // namespace braid::detail
