// sim/descriptors.hpp: descriptors, and what simulated ones refer to.
#pragma once

#include <sim/arena.hpp>
#include <sim/real.hpp>

#include <span>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace sim {

struct watch;

/// The bytes of a call that reads or writes, with its address.
struct message {
  std::span<const iovec> parts;
  int flags = 0;
  const sockaddr* to = nullptr;  ///< of a call that sends
  socklen_t to_length = 0;
  sockaddr* from = nullptr;  ///< of a call that receives
  socklen_t* from_length = nullptr;
  int found_flags = 0;  ///< MSG_TRUNC

  [[nodiscard]] auto size() const -> std::size_t;
  void gather(bytes& to_end) const;
  /// Copies bytes into the parts. Returns their number.
  auto scatter(std::span<const char> from_bytes) const -> std::size_t;
};

/// A simulated socket, timer or epoll instance. Its descriptors are real ones of the same kind, which have no
/// connection and no registration: they keep numbers, limits, flags and options.
class object : public std::enable_shared_from_this<object> {
 public:
  object() = default;
  object(const object&) = delete;
  auto operator=(const object&) -> object& = delete;
  virtual ~object() = default;

  /// Returns the events of poll that are true now.
  [[nodiscard]] virtual auto ready() const -> std::uint32_t = 0;
  virtual auto receive(int descriptor, message& wanted) -> ssize_t = 0;
  virtual auto send(int descriptor, const message& given) -> ssize_t = 0;
  /// Returns the result of FIONREAD.
  [[nodiscard]] virtual auto unread() const -> int { return 0; }
  /// Called when the last descriptor has been closed.
  virtual void close() = 0;
  /// Called by an event of the network that is a point in time only.
  virtual void expire() {}

  /// Tells those who wait that events may have become true.
  void changed(std::uint32_t events);

  int descriptors = 0;   ///< numbers that refer to it
  list<watch*> watches;  ///< registrations in epoll instances
};

/// Returns the object of a descriptor, or null if it is a real one.
auto find_object(int descriptor) -> const std::shared_ptr<object>&;
void set_object(int descriptor, std::shared_ptr<object> made);
template <typename T>
auto find_as(int descriptor) -> std::shared_ptr<T> {
  return std::dynamic_pointer_cast<T>(find_object(descriptor));
}

auto is_nonblocking(int descriptor) -> bool;
/// Fills in the events of descriptors, simulated and real. Returns the number of those that are ready.
auto poll_now(std::span<pollfd> descriptors) -> int;

/// Returns true if the system can make a descriptor ready: it is a real one, or an epoll instance.
auto has_real_events(int descriptor) -> bool;

/// Waits until a descriptor is ready. Returns false with errno EAGAIN if the call may not wait, or at the deadline, and
/// with EINTR or EBADF.
auto wait_for(call kind, int descriptor, const object& waits_for, short events, bool may_wait, nanoseconds deadline)
    -> bool;

/// Removes the registrations of an object, or of one of its descriptors.
void forget_watches(object& gone);

/// Waits until a call on a real descriptor does not block, and makes it.
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

/// Repeats a call that does not wait, until it finds something or the time is over.
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
