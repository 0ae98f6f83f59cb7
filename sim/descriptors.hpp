// sim/descriptors.hpp: declares simulated descriptors and the objects that they refer to.
#pragma once

#include <sim/arena.hpp>
#include <sim/real.hpp>

#include <span>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace sim {

struct watch;

/// The arguments of a call that reads or writes: its buffers, flags and addresses.
struct message {
  std::span<const iovec> parts;
  int flags = 0;
  const sockaddr* to = nullptr;  ///< the target of a call that sends
  socklen_t to_length = 0;
  sockaddr* from = nullptr;  ///< where a call that receives stores the sender
  socklen_t* from_length = nullptr;
  int found_flags = 0;  ///< MSG_TRUNC

  [[nodiscard]] auto size() const -> std::size_t;
  void gather(bytes& to_end) const;
  /// Copies bytes into the buffers of the message. Returns the number of copied bytes.
  auto scatter(std::span<const char> from_bytes) const -> std::size_t;
};

/// A simulated socket, timer or epoll instance. The program's descriptors of this object are real descriptors of the
/// same kind, but without a connection or registration. So the kernel manages the numbers, limits, flags and options.
class object : public std::enable_shared_from_this<object> {
 public:
  object() = default;
  object(const object&) = delete;
  auto operator=(const object&) -> object& = delete;
  virtual ~object() = default;

  /// Returns the events of poll(2) that currently hold, such as POLLIN.
  [[nodiscard]] virtual auto ready() const -> std::uint32_t = 0;
  virtual auto receive(int descriptor, message& wanted) -> ssize_t = 0;
  virtual auto send(int descriptor, const message& given) -> ssize_t = 0;
  /// Returns the number of unread bytes, as ioctl FIONREAD reports it.
  [[nodiscard]] virtual auto unread() const -> int { return 0; }
  /// Called when the last descriptor has been closed.
  virtual void close() = 0;
  /// Returns true for a file. epoll refuses files.
  [[nodiscard]] virtual auto is_file() const -> bool { return false; }
  /// Called when an event that only marks a point in time is due, such as the expiry of a timer.
  virtual void expire() {}

  /// Called if this object may have become ready for `events`, such as EPOLLIN. Wakes the threads and epoll instances
  /// that wait for it.
  void changed(std::uint32_t events);

  int descriptors = 0;   ///< the number of descriptors that refer to it
  list<watch*> watches;  ///< registrations in epoll instances
};

/// Returns the simulated object of a descriptor, or null if the descriptor is not simulated.
auto find_object(int descriptor) -> const std::shared_ptr<object>&;
void set_object(int descriptor, std::shared_ptr<object> made);
template <typename T>
auto find_as(int descriptor) -> std::shared_ptr<T> {
  return std::dynamic_pointer_cast<T>(find_object(descriptor));
}

auto is_nonblocking(int descriptor) -> bool;
/// Stores the current events of simulated and real descriptors. Returns the number of ready descriptors.
auto poll_now(std::span<pollfd> descriptors) -> int;

/// Returns whether the kernel can make the descriptor ready: the descriptor is not simulated, or is an epoll instance.
auto has_real_events(int descriptor) -> bool;

/// Waits until a descriptor is ready. Otherwise returns false and sets errno: EAGAIN at the deadline or if the call
/// must not wait, EINTR after a signal, EBADF if the descriptor was closed.
auto wait_for(call kind, int descriptor, const object& waits_for, short events, bool may_wait, nanoseconds deadline)
    -> bool;

/// Removes an object from all epoll instances.
void forget_watches(object& gone);

/// Waits until a call on a real descriptor would not block, and then makes the call.
template <typename Call>
auto when_ready(call kind, int descriptor, short events, bool waits, Call real) {
  point(kind);
  using result = decltype(real());
  pollfd wanted{descriptor, events, 0};
  while (waits && poll_now({&wanted, 1}) == 0 && !is_nonblocking(descriptor)) {
    if (block({.kind = kind, .descriptors = &wanted, .descriptor_count = 1}) != woken::interrupted) continue;
    errno = EINTR;
    return static_cast<result>(-1);
  }
  const result made = real();
  descriptors_changed();
  return made;
}

/// Repeats `find`, which does not block, until it returns a result or the deadline is reached.
template <typename Poll>
auto poll_until(nanoseconds deadline, std::span<pollfd> descriptors, Poll find) -> int {
  point(call::poll);
  for (;;) {
    const int found = find();
    if (found != 0 || now() >= deadline) return found;
    const woken end = block({.kind = call::poll,
                             .deadline = deadline,
                             .descriptors = descriptors.data(),
                             .descriptor_count = descriptors.size()});
    if (end == woken::interrupted) return fail(EINTR);
  }
}

}  // namespace sim
