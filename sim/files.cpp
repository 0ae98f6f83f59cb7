// sim/files.cpp: calls that may wait for a descriptor. Descriptors are real; a thread that would wait for one waits in
// the simulator, and the real call follows when the descriptor is ready.
#include <sim/real.hpp>

#include <algorithm>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace sim {
namespace {

auto is_ready(pollfd* descriptors, nfds_t count) -> bool {
  const timespec none{};
  const long found = kernel(SYS_ppoll, reinterpret_cast<long>(descriptors), static_cast<long>(count),
                            reinterpret_cast<long>(&none), 0, 8);
  return found != 0;
}

auto may_wait(int descriptor) -> bool {
  const long flags = kernel(SYS_fcntl, descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

/// Waits until the call does not block, and makes it.
template <typename Call>
auto when_ready(call kind, int descriptor, short events, bool waits, Call real) {
  point(kind);
  using result = decltype(real());
  pollfd wanted{descriptor, events, 0};
  while (waits && !is_ready(&wanted, 1) && may_wait(descriptor)) {
    if (block({.kind = kind, .descriptors = &wanted, .descriptor_count = 1}) != woken::interrupted) continue;
    errno = EINTR;
    return static_cast<result>(-1);
  }
  const result made = real();
  descriptors_changed();
  return made;
}

/// Repeats a poll that does not wait, until it finds something or the time is over.
template <typename Poll>
auto poll_until(nanoseconds deadline, pollfd* descriptors, nfds_t count, Poll poll_now) -> int {
  point(call::poll);
  for (;;) {
    const int found = poll_now();
    if (found != 0 || now() >= deadline) return found;
    const woken end =
        block({.kind = call::poll, .deadline = deadline, .descriptors = descriptors, .descriptor_count = count});
    if (end == woken::interrupted) return fail(EINTR);
  }
}

auto milliseconds(int limit) -> nanoseconds { return limit < 0 ? never : now() + nanoseconds{limit} * 1'000'000; }

}  // namespace

// --- reading and writing ---

SIM_CALL(ssize_t, read, int descriptor, void* memory, size_t size) {
  if (!on()) return REAL(read)(descriptor, memory, size);
  return when_ready(call::read, descriptor, POLLIN, true, [&] { return REAL(read)(descriptor, memory, size); });
}

SIM_CALL(ssize_t, __read_chk, int descriptor, void* memory, size_t size, size_t /*room*/) {
  return sim_read(descriptor, memory, size);
}

SIM_CALL(ssize_t, readv, int descriptor, const iovec* parts, int count) {
  if (!on()) return REAL(readv)(descriptor, parts, count);
  return when_ready(call::read, descriptor, POLLIN, true, [&] { return REAL(readv)(descriptor, parts, count); });
}

SIM_CALL(ssize_t, write, int descriptor, const void* memory, size_t size) {
  if (!on()) return REAL(write)(descriptor, memory, size);
  return when_ready(call::write, descriptor, POLLOUT, true, [&] { return REAL(write)(descriptor, memory, size); });
}

SIM_CALL(ssize_t, writev, int descriptor, const iovec* parts, int count) {
  if (!on()) return REAL(writev)(descriptor, parts, count);
  return when_ready(call::write, descriptor, POLLOUT, true, [&] { return REAL(writev)(descriptor, parts, count); });
}

SIM_CALL(int, eventfd_read, int descriptor, eventfd_t* value) {
  return sim_read(descriptor, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

SIM_CALL(int, eventfd_write, int descriptor, eventfd_t value) {
  return sim_write(descriptor, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

SIM_CALL(ssize_t, recv, int descriptor, void* memory, size_t size, int flags) {
  if (!on()) return REAL(recv)(descriptor, memory, size, flags);
  return when_ready(call::read, descriptor, POLLIN, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(recv)(descriptor, memory, size, flags); });
}

SIM_CALL(ssize_t, recvfrom, int descriptor, void* memory, size_t size, int flags, sockaddr* from, socklen_t* length) {
  if (!on()) return REAL(recvfrom)(descriptor, memory, size, flags, from, length);
  return when_ready(call::read, descriptor, POLLIN, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(recvfrom)(descriptor, memory, size, flags, from, length); });
}

SIM_CALL(ssize_t, recvmsg, int descriptor, msghdr* message, int flags) {
  if (!on()) return REAL(recvmsg)(descriptor, message, flags);
  return when_ready(call::read, descriptor, POLLIN, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(recvmsg)(descriptor, message, flags); });
}

SIM_CALL(ssize_t, send, int descriptor, const void* memory, size_t size, int flags) {
  if (!on()) return REAL(send)(descriptor, memory, size, flags);
  return when_ready(call::write, descriptor, POLLOUT, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(send)(descriptor, memory, size, flags); });
}

SIM_CALL(ssize_t, sendto, int descriptor, const void* memory, size_t size, int flags, const sockaddr* to,
         socklen_t length) {
  if (!on()) return REAL(sendto)(descriptor, memory, size, flags, to, length);
  return when_ready(call::write, descriptor, POLLOUT, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(sendto)(descriptor, memory, size, flags, to, length); });
}

SIM_CALL(ssize_t, sendmsg, int descriptor, const msghdr* message, int flags) {
  if (!on()) return REAL(sendmsg)(descriptor, message, flags);
  return when_ready(call::write, descriptor, POLLOUT, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(sendmsg)(descriptor, message, flags); });
}

// --- sockets ---

SIM_CALL(int, socket, int domain, int type, int protocol) {
  if (on() && (domain == AF_INET || domain == AF_INET6)) has_sockets();
  return REAL(socket)(domain, type, protocol);
}

SIM_CALL(int, connect, int descriptor, const sockaddr* to, socklen_t length) {
  if (!on()) return REAL(connect)(descriptor, to, length);
  return when_ready(call::connect, descriptor, POLLOUT, false, [&] { return REAL(connect)(descriptor, to, length); });
}

SIM_CALL(int, accept4, int descriptor, sockaddr* from, socklen_t* length, int flags) {
  if (!on()) return REAL(accept4)(descriptor, from, length, flags);
  return when_ready(call::accept, descriptor, POLLIN, true,
                    [&] { return REAL(accept4)(descriptor, from, length, flags); });
}

SIM_CALL(int, accept, int descriptor, sockaddr* from, socklen_t* length) {
  if (!on()) return REAL(accept)(descriptor, from, length);
  return sim_accept4(descriptor, from, length, 0);
}

SIM_CALL(int, shutdown, int descriptor, int how) {
  if (!on()) return REAL(shutdown)(descriptor, how);
  return when_ready(call::close, descriptor, 0, false, [&] { return REAL(shutdown)(descriptor, how); });
}

SIM_CALL(int, close, int descriptor) {
  if (!on()) return REAL(close)(descriptor);
  return when_ready(call::close, descriptor, 0, false, [&] { return REAL(close)(descriptor); });
}

// --- waiting for several descriptors ---

SIM_CALL(int, ppoll, pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask) {
  if (!on()) return REAL(ppoll)(descriptors, count, limit, mask);
  const nanoseconds deadline = limit == nullptr ? never : after(*limit);
  return poll_until(deadline, descriptors, count, [&] {
    const timespec none{};
    return static_cast<int>(kernel(SYS_ppoll, reinterpret_cast<long>(descriptors), static_cast<long>(count),
                                   reinterpret_cast<long>(&none), 0, 8));
  });
}

SIM_CALL(int, poll, pollfd* descriptors, nfds_t count, int limit) {
  if (!on()) return REAL(poll)(descriptors, count, limit);
  const timespec time = to_timespec(nanoseconds{std::max(limit, 0)} * 1'000'000);
  return sim_ppoll(descriptors, count, limit < 0 ? nullptr : &time, nullptr);
}

SIM_CALL(int, __poll_chk, pollfd* descriptors, nfds_t count, int limit, size_t /*room*/) {
  return sim_poll(descriptors, count, limit);
}

SIM_CALL(int, epoll_wait, int descriptor, epoll_event* events, int room, int limit) {
  if (!on()) return REAL(epoll_wait)(descriptor, events, room, limit);
  pollfd wanted{descriptor, POLLIN, 0};
  return poll_until(milliseconds(limit), &wanted, 1, [&] { return REAL(epoll_wait)(descriptor, events, room, 0); });
}

SIM_CALL(int, epoll_pwait, int descriptor, epoll_event* events, int room, int limit, const sigset_t* mask) {
  if (!on()) return REAL(epoll_pwait)(descriptor, events, room, limit, mask);
  return sim_epoll_wait(descriptor, events, room, limit);
}

SIM_CALL(int, epoll_pwait2, int descriptor, epoll_event* events, int room, const timespec* limit,
         const sigset_t* mask) {
  if (!on()) return REAL(epoll_pwait2)(descriptor, events, room, limit, mask);
  pollfd wanted{descriptor, POLLIN, 0};
  return poll_until(limit == nullptr ? never : after(*limit), &wanted, 1, [&] {
    return static_cast<int>(kernel(SYS_epoll_pwait, descriptor, reinterpret_cast<long>(events), room, 0, 0, 8));
  });
}

SIM_CALL(int, epoll_ctl, int descriptor, int operation, int about, epoll_event* event) {
  const int status = REAL(epoll_ctl)(descriptor, operation, about, event);
  if (on()) descriptors_changed();
  return status;
}

SIM_CALL(int, pselect, int bound, fd_set* in, fd_set* out, fd_set* odd, const timespec* limit, const sigset_t* mask) {
  if (!on()) return REAL(pselect)(bound, in, out, odd, limit, mask);
  constexpr int most = 64;
  std::array<pollfd, most> wanted{};
  nfds_t count = 0;
  for (int at = 0; at < bound; ++at) {
    const auto has = [at](const fd_set* set) { return set != nullptr && FD_ISSET(at, set); };
    const int events = (has(in) ? POLLIN : 0) | (has(out) ? POLLOUT : 0) | (has(odd) ? POLLPRI : 0);
    if (events == 0) continue;
    if (count == most) refuse("select", "it waits for more than 64 descriptors; use poll instead");
    wanted[count++] = {at, static_cast<short>(events), 0};
  }
  const fd_set asked_in = in == nullptr ? fd_set{} : *in;
  const fd_set asked_out = out == nullptr ? fd_set{} : *out;
  const fd_set asked_odd = odd == nullptr ? fd_set{} : *odd;
  return poll_until(limit == nullptr ? never : after(*limit), wanted.data(), count, [&] {
    if (in != nullptr) *in = asked_in;
    if (out != nullptr) *out = asked_out;
    if (odd != nullptr) *odd = asked_odd;
    const timespec none{};
    return REAL(pselect)(bound, in, out, odd, &none, nullptr);
  });
}

SIM_CALL(int, select, int bound, fd_set* in, fd_set* out, fd_set* odd, timeval* limit) {
  if (!on()) return REAL(select)(bound, in, out, odd, limit);
  const timespec time = limit == nullptr ? timespec{} : timespec{limit->tv_sec, limit->tv_usec * 1000};
  return sim_pselect(bound, in, out, odd, limit == nullptr ? nullptr : &time, nullptr);
}

SIM_CALL(int, flock, int descriptor, int operation) {
  if (!on() || (operation & LOCK_NB) != 0) return REAL(flock)(descriptor, operation);
  point(call::file_lock);
  for (;;) {
    const int status = REAL(flock)(descriptor, operation | LOCK_NB);
    if (status == 0 || errno != EWOULDBLOCK) return status;
    const wait again{.kind = call::file_lock, .deadline = now() + second / 1000, .is_outside = true};
    if (block(again) == woken::interrupted) return fail(EINTR);
  }
}

}  // namespace sim
