// src/platform/descriptors.hpp: what the layer io needs from the operating system for descriptors, beyond the sockets
// of POSIX. Each system has a folder with an implementation. A function that fails sets `errno`.
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

/// The descriptors of an event. A raise makes `read` readable until it is cleared.
struct event_numbers {
  int read = -1;
  int write = -1;  // -1 if the event has one descriptor for both
};

/// Opens an event whose descriptors do not block. Returns descriptors of -1 if the system refuses.
[[nodiscard]] auto open_event() noexcept -> event_numbers;

/// Raises the event. `number` is its descriptor for writing. A raise may be lost if the event is raised already.
void raise_event(int number) noexcept;

/// Clears the event. `number` is its descriptor for reading. It may stay readable if it was raised often.
void clear_event(int number) noexcept;

/// Closes a descriptor.
void close_descriptor(int number) noexcept;

/// Makes a descriptor non-blocking, and closes it when the process executes another program. Returns 0, or -1.
[[nodiscard]] auto set_non_blocking(int number) noexcept -> int;

// The next four functions open descriptors that child processes do not inherit. Unless the mode says otherwise, calls
// on them do not block. They return a negative number after an error.

[[nodiscard]] auto open_socket(int family, int type) noexcept -> int;
[[nodiscard]] auto open_socket_pair(std::array<int, 2>& ends) noexcept -> int;
[[nodiscard]] auto accept_connection(int listener) noexcept -> int;
/// Opens a pipe. `ends` receives the end for reading and the end for writing.
[[nodiscard]] auto open_pipe(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int;

/// Returns 0 if the number is a descriptor that can be waited for, such as a pipe. Otherwise returns -1: EPERM for a
/// regular file and for a folder.
[[nodiscard]] auto check_can_wait(int number) noexcept -> int;

/// Opens a descriptor that nothing uses. The caller closes it later to make room for another descriptor. Returns -1 if
/// the process has no free descriptor.
[[nodiscard]] auto open_reserve() noexcept -> int;

/// Reads from, or writes to, a descriptor that is not a socket. Raises no SIGPIPE. Return the number of bytes, or -1.
[[nodiscard]] auto read_parts(int number, const iovec* parts, int count) noexcept -> ssize_t;
[[nodiscard]] auto write_parts(int number, const iovec* parts, int count) noexcept -> ssize_t;

/// Calls poll(2) with a timeout in nanoseconds, which is null for no timeout. Returns -1 with ENOSYS if the system has
/// no such call.
[[nodiscard]] auto poll_exactly(::pollfd* polled, std::size_t count, const ::timespec* timeout) noexcept -> int;

/// Returns the number of connections that wait for `accept`, or nothing. If the system does not count them, the error
/// is ENOTSUP, or EOPNOTSUPP on Windows, where they differ.
[[nodiscard]] auto count_waiting_connections(int listener) noexcept -> std::optional<std::size_t>;

/// Returns the time of the last change of a file's content.
[[nodiscard]] auto change_time(const struct ::stat& about) noexcept -> ::timespec;

}  // namespace braid::detail
