// src/platform/windows/descriptors.cpp: implements the sockets of POSIX (windows/posix) and the calls of
// descriptors.hpp with Winsock. On Windows, each descriptor of the layer io is a socket. The number of a socket fits
// into an int, because Windows uses only the lower 32 bits of a handle.
#include <sys/socket.h>

#include <poll.h>

#include "../descriptors.hpp"

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <mswsock.h>

namespace braid::detail {
namespace {

/// Loads Winsock before the program uses a socket.
[[gnu::constructor]] void start_winsock() noexcept {
  WSADATA data{};
  static_cast<void>(::WSAStartup(MAKEWORD(2, 2), &data));
}

auto to_socket(int number) noexcept -> SOCKET { return number < 0 ? INVALID_SOCKET : static_cast<SOCKET>(number); }

/// Maps the errors of Winsock to the values of `errno` that POSIX defines for them.
constexpr auto errors = std::to_array<std::pair<int, int>>({
    {WSAEINTR, EINTR},
    {WSAEBADF, EBADF},
    {WSAEACCES, EACCES},
    {WSAEFAULT, EFAULT},
    {WSAEINVAL, EINVAL},
    {WSAEMFILE, EMFILE},
    {WSAEWOULDBLOCK, EAGAIN},
    {WSAEINPROGRESS, EINPROGRESS},
    {WSAEALREADY, EALREADY},
    {WSAENOTSOCK, ENOTSOCK},
    {WSAEDESTADDRREQ, EDESTADDRREQ},
    {WSAEMSGSIZE, EMSGSIZE},
    {WSAEPROTOTYPE, EPROTOTYPE},
    {WSAENOPROTOOPT, ENOPROTOOPT},
    {WSAEPROTONOSUPPORT, EPROTONOSUPPORT},
    {WSAESOCKTNOSUPPORT, EPROTONOSUPPORT},
    {WSAEOPNOTSUPP, EOPNOTSUPP},
    {WSAEPFNOSUPPORT, EAFNOSUPPORT},
    {WSAEAFNOSUPPORT, EAFNOSUPPORT},
    {WSAEADDRINUSE, EADDRINUSE},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL},
    {WSAENETDOWN, ENETDOWN},
    {WSAENETUNREACH, ENETUNREACH},
    {WSAENETRESET, ENETRESET},
    {WSAECONNABORTED, ECONNABORTED},
    {WSAECONNRESET, ECONNRESET},
    {WSAENOBUFS, ENOBUFS},
    {WSAEISCONN, EISCONN},
    {WSAENOTCONN, ENOTCONN},
    {WSAESHUTDOWN, EPIPE},
    {WSAETIMEDOUT, ETIMEDOUT},
    {WSAECONNREFUSED, ECONNREFUSED},
    {WSAELOOP, ELOOP},
    {WSAENAMETOOLONG, ENAMETOOLONG},
    {WSAEHOSTDOWN, EHOSTDOWN},
    {WSAEHOSTUNREACH, EHOSTUNREACH},
    {WSAENOTEMPTY, ENOTEMPTY},
    {WSA_NOT_ENOUGH_MEMORY, ENOMEM},
});

/// The sockets whose reading side the program has shut down. poll(2) reports such sockets as readable, but WSAPoll does
/// not. Without this list, a waiting read would never end.
class ended_reads {
 public:
  void add(int number) noexcept {
    const std::lock_guard guard(lock_);
    try {
      numbers_.push_back(number);
      count_.store(numbers_.size(), relaxed);
    } catch (const std::bad_alloc&) {  // the wait then ends when the peer closes the connection
    }
  }
  void remove(int number) noexcept {
    if (count_.load(relaxed) == 0) return;
    const std::lock_guard guard(lock_);
    std::erase(numbers_, number);
    count_.store(numbers_.size(), relaxed);
  }
  auto contains(int number) noexcept -> bool {
    if (count_.load(relaxed) == 0) return false;
    const std::lock_guard guard(lock_);
    return std::ranges::find(numbers_, number) != numbers_.end();
  }

 private:
  fork_safe_mutex lock_;
  std::vector<int> numbers_;
  atomic<std::size_t> count_{0};  // lets most calls do without the lock
};

constinit ended_reads reads_ended;

auto to_errno(int error) noexcept -> int {
  const auto* const found = std::ranges::find(errors, error, &std::pair<int, int>::first);
  return found != errors.end() ? found->second : EIO;
}

auto refuse(int error) noexcept -> int {
  errno = error;
  return -1;
}

/// Returns the status of a call of Winsock, and sets `errno` if it has failed.
auto checked(int status) noexcept -> int {
  return status == SOCKET_ERROR ? refuse(to_errno(::WSAGetLastError())) : status;
}

/// Sets the modes that the flags SOCK_NONBLOCK and SOCK_CLOEXEC request. An accepted socket may have inherited other
/// modes.
auto set_flags(SOCKET open, int flags) noexcept -> int {
  unsigned long does_not_block = (flags & SOCK_NONBLOCK) != 0 ? 1 : 0;
  if (::ioctlsocket(open, static_cast<long>(FIONBIO), &does_not_block) == SOCKET_ERROR) return checked(SOCKET_ERROR);
  const DWORD inherits = (flags & SOCK_CLOEXEC) != 0 ? 0 : HANDLE_FLAG_INHERIT;
  ::SetHandleInformation(reinterpret_cast<HANDLE>(open), HANDLE_FLAG_INHERIT, inherits);
  return 0;
}

auto find_type(SOCKET open) noexcept -> int {
  int type = 0;
  int size = sizeof(type);
  return ::getsockopt(open, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&type), &size) == 0 ? type : 0;
}

/// Returns the error of a socket's connection, or of its attempt to connect, as a number of `errno`. Returns 0 if there
/// is no error.
auto find_error(SOCKET open) noexcept -> int {
  int error = 0;
  int size = sizeof(error);
  if (::getsockopt(open, SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size) != 0 || error == 0) return 0;
  return to_errno(error);
}

auto is_connected(SOCKET open) noexcept -> bool {
  sockaddr_storage peer{};
  int size = sizeof(peer);
  return ::getpeername(open, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

constexpr std::size_t max_parts = 16;  // more parts are left for another call
constexpr std::size_t max_bytes = INT_MAX;

/// The parts of a message, in the form that Winsock needs.
struct part_list {
  explicit part_list(const msghdr& message) noexcept {
    for (; count < std::min(message.msg_iovlen, max_parts); ++count) {
      const iovec& part = message.msg_iov[count];
      parts[count].buf = static_cast<char*>(part.iov_base);
      parts[count].len = static_cast<ULONG>(std::min(part.iov_len, max_bytes));
    }
  }
  std::array<WSABUF, max_parts> parts{};
  std::size_t count = 0;
};

/// Returns whether the error of a datagram socket says that no process received an earlier datagram. On POSIX, only
/// connected sockets report this, as ECONNREFUSED.
auto is_unreachable(SOCKET from, int error) noexcept -> bool {
  return (error == WSAECONNRESET || error == WSAENETRESET) && find_type(from) == SOCK_DGRAM;
}

auto receive(SOCKET from, msghdr& message, int flags) noexcept -> ssize_t {
  for (;;) {
    part_list list(message);
    DWORD received = 0;
    DWORD state = static_cast<DWORD>(flags);
    auto* const address = static_cast<sockaddr*>(message.msg_name);
    int size = message.msg_namelen;
    if (::WSARecvFrom(from, list.parts.data(), static_cast<DWORD>(list.count), &received, &state, address,
                      address != nullptr ? &size : nullptr, nullptr, nullptr) == 0) {
      message.msg_flags = 0;
      if (address != nullptr) message.msg_namelen = size;
      return static_cast<ssize_t>(received);
    }
    switch (const int error = ::WSAGetLastError(); error) {
      case WSAEMSGSIZE: {  // the rest of the datagram is lost
        message.msg_flags = MSG_TRUNC;
        if (address != nullptr) message.msg_namelen = size;
        std::size_t room = 0;
        for (std::size_t at = 0; at < list.count; ++at) room += list.parts[at].len;
        return static_cast<ssize_t>(room);
      }
      case WSAESHUTDOWN: return 0;  // this side has ended the reading
      case WSAECONNABORTED: return refuse(ECONNRESET);
      default:
        if (!is_unreachable(from, error)) return refuse(to_errno(error));
        if (is_connected(from)) return refuse(ECONNREFUSED);
    }
  }
}

auto send(SOCKET to, const msghdr& message, int flags) noexcept -> ssize_t {
  for (;;) {
    part_list list(message);
    DWORD sent = 0;
    if (::WSASendTo(to, list.parts.data(), static_cast<DWORD>(list.count), &sent, static_cast<DWORD>(flags),
                    static_cast<const sockaddr*>(message.msg_name), message.msg_namelen, nullptr, nullptr) == 0)
      return static_cast<ssize_t>(sent);
    const int error = ::WSAGetLastError();
    if (error == WSAECONNABORTED) return refuse(ECONNRESET);
    if (message.msg_name == nullptr && find_type(to) == SOCK_DGRAM && !is_connected(to)) return refuse(EDESTADDRREQ);
    if (!is_unreachable(to, error)) return refuse(to_errno(error));
    if (is_connected(to)) return refuse(ECONNREFUSED);
  }
}

auto accept_from(SOCKET listener, sockaddr* address, socklen_t* size, int flags) noexcept -> int {
  const SOCKET accepted = ::accept(listener, address, size);
  if (accepted == INVALID_SOCKET) {
    const int error = ::WSAGetLastError();
    return refuse(error == WSAECONNRESET ? ECONNABORTED : to_errno(error));
  }
  if (set_flags(accepted, flags) == 0) return static_cast<int>(accepted);
  const int error = errno;
  ::closesocket(accepted);
  return refuse(error);
}

/// Connects two TCP sockets over a listener that exists only for this call. Another process may connect to the listener
/// as well; the connections of such a process are closed.
auto connect_pair(int type, int (&numbers)[2]) noexcept -> int {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int first = ::socket(AF_INET, SOCK_STREAM | (type & SOCK_CLOEXEC), 0);
  int second = -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  bool connected = listener >= 0 && first >= 0 && ::bind(listener, at, size) == 0 && ::listen(listener, 1) == 0 &&
                   ::getsockname(listener, at, &size) == 0 && ::connect(first, at, size) == 0;
  for (bool is_peer = false; connected && !is_peer;) {
    sockaddr_in own{};
    sockaddr_in peer{};
    socklen_t own_size = sizeof(own);
    socklen_t peer_size = sizeof(peer);
    second = ::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &peer_size, type & (SOCK_CLOEXEC | SOCK_NONBLOCK));
    connected = second >= 0 && ::getsockname(first, reinterpret_cast<sockaddr*>(&own), &own_size) == 0;
    is_peer = connected && own.sin_port == peer.sin_port && own.sin_addr.s_addr == peer.sin_addr.s_addr;
    if (connected && !is_peer) close_descriptor(second);
  }
  constexpr int on = 1;
  connected = connected && ::setsockopt(first, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
              ::setsockopt(second, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
              set_flags(to_socket(first), type) == 0;
  const int error = errno;
  if (listener >= 0) close_descriptor(listener);
  if (connected) {
    numbers[0] = first;
    numbers[1] = second;
    return 0;
  }
  if (first >= 0) close_descriptor(first);
  if (second >= 0) close_descriptor(second);
  return refuse(error);
}

}  // namespace

auto open_event() noexcept -> event_numbers {
  std::array<int, 2> ends{};
  if (open_pipe(ends, blocking_mode::non_blocking) != 0) return {};
  return {.read = ends[0], .write = ends[1]};
}

void raise_event(int number) noexcept {
  // The call fails only if the buffers are full. In that case the event is already raised.
  static_cast<void>(::send(number, "x", 1, 0));
}

void clear_event(int number) noexcept {
  std::array<char, 512> raised{};
  static_cast<void>(::recv(number, raised.data(), raised.size(), 0));
}

void close_descriptor(int number) noexcept {
  reads_ended.remove(number);  // before another socket gets the number
  ::closesocket(to_socket(number));
}

auto set_non_blocking(int number) noexcept -> int { return set_flags(to_socket(number), SOCK_NONBLOCK | SOCK_CLOEXEC); }

auto open_socket(int family, int type) noexcept -> int {
  return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

auto open_socket_pair(std::array<int, 2>& ends) noexcept -> int {
  int numbers[2];
  if (connect_pair(SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, numbers) != 0) return -1;
  ends = {numbers[0], numbers[1]};
  return 0;
}

auto accept_connection(int listener) noexcept -> int {
  return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

auto open_pipe(std::array<int, 2>& ends, blocking_mode mode) noexcept -> int {
  int numbers[2];
  const int flags = SOCK_CLOEXEC | (mode == blocking_mode::blocking ? 0 : SOCK_NONBLOCK);
  if (connect_pair(SOCK_STREAM | flags, numbers) != 0) return -1;
  ::shutdown(numbers[0], SHUT_WR);  // so that the other end sees when this one is closed
  ends = {numbers[0], numbers[1]};
  return 0;
}

auto poll_exactly(::pollfd* polled, std::size_t count, const ::timespec* timeout) noexcept -> int {
  return ::ppoll(polled, count, timeout, nullptr);
}

auto count_waiting_connections(int /*listener*/) noexcept -> std::optional<std::size_t> {
  errno = EOPNOTSUPP;
  return std::nullopt;
}

auto check_can_wait(int number) noexcept -> int {
  return find_type(to_socket(number)) != 0 ? 0 : refuse(::WSAGetLastError() == WSAENOTSOCK ? EBADF : EPERM);
}

auto open_reserve() noexcept -> int { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

auto read_parts(int number, const iovec* parts, int count) noexcept -> ssize_t {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return ::recvmsg(number, &message, 0);
}

/// Reports the error of POSIX for a pipe whose other end is closed. On Windows the pipe is a TCP socket, which reports
/// a reset instead.
auto write_parts(int number, const iovec* parts, int count) noexcept -> ssize_t {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  const ssize_t written = ::sendmsg(number, &message, 0);
  return written < 0 && errno == ECONNRESET ? refuse(EPIPE) : written;
}

}  // namespace braid::detail

using namespace braid::detail;

auto socket(int family, int type, int protocol) noexcept -> int {
  if (family == AF_UNIX) return refuse(EOPNOTSUPP);
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const SOCKET open = ::WSASocketW(family, kind, protocol, nullptr, 0, WSA_FLAG_OVERLAPPED);
  if (open == INVALID_SOCKET) return checked(SOCKET_ERROR);
  if (set_flags(open, type) == 0) return static_cast<int>(open);
  const int error = errno;
  ::closesocket(open);
  return refuse(error);
}

auto bind(int number, const sockaddr* address, socklen_t size) noexcept -> int {
  return checked(::bind(to_socket(number), address, size));
}

auto listen(int number, int backlog) noexcept -> int { return checked(::listen(to_socket(number), backlog)); }

auto accept4(int number, sockaddr* address, socklen_t* size, int flags) noexcept -> int {
  return accept_from(to_socket(number), address, size, flags);
}

auto connect(int number, const sockaddr* address, socklen_t size) noexcept -> int {
  const SOCKET open = to_socket(number);
  // Returns the error of an earlier attempt that has failed. Otherwise Winsock would begin another attempt.
  if (const int error = find_error(open); error != 0) return refuse(error);
  if (::connect(open, address, size) == 0) return 0;
  const int error = ::WSAGetLastError();
  return refuse(error == WSAEWOULDBLOCK ? EINPROGRESS : to_errno(error));
}

auto shutdown(int number, int side) noexcept -> int {
  if (checked(::shutdown(to_socket(number), side)) != 0) return -1;
  if (side != SHUT_WR) reads_ended.add(number);
  return 0;
}

auto getsockname(int number, sockaddr* address, socklen_t* size) noexcept -> int {
  return checked(::getsockname(to_socket(number), address, size));
}

auto getpeername(int number, sockaddr* address, socklen_t* size) noexcept -> int {
  return checked(::getpeername(to_socket(number), address, size));
}

auto getsockopt(int number, int level, int name, void* value, socklen_t* size) noexcept -> int {
  return checked(::getsockopt(to_socket(number), level, name, static_cast<char*>(value), size));
}

auto setsockopt(int number, int level, int name, const void* value, socklen_t size) noexcept -> int {
  if (level == SOL_SOCKET && name == SO_REUSEPORT) return refuse(EOPNOTSUPP);
  if (level == SOL_SOCKET && name == SO_REUSEADDR && find_type(to_socket(number)) == SOCK_STREAM) return 0;
  return checked(::setsockopt(to_socket(number), level, name, static_cast<const char*>(value), size));
}

auto socketpair(int /*family*/, int type, int /*protocol*/, int* numbers) noexcept -> int {
  int pair[2];
  if (connect_pair(type, pair) != 0) return -1;
  numbers[0] = pair[0];
  numbers[1] = pair[1];
  return 0;
}

auto recvmsg(int number, msghdr* message, int flags) noexcept -> ssize_t {
  return receive(to_socket(number), *message, flags);
}

auto sendmsg(int number, const msghdr* message, int flags) noexcept -> ssize_t {
  return braid::detail::send(to_socket(number), *message, flags);
}

auto poll(posix_pollfd* items, nfds_t count, int timeout_ms) noexcept -> int {
  try {
    thread_local std::vector<WSAPOLLFD> asked;
    asked.clear();
    int ended = 0;
    for (nfds_t at = 0; at < count; ++at) {
      asked.push_back({to_socket(items[at].fd), items[at].events, 0});
      if ((items[at].events & POLLIN) != 0 && reads_ended.contains(items[at].fd)) ++ended;
    }
    const int ready = checked(::WSAPoll(asked.data(), static_cast<ULONG>(count), ended != 0 ? 0 : timeout_ms));
    for (nfds_t at = 0; at < count; ++at) items[at].revents = asked[at].revents;
    if (ready < 0 || ended == 0) return ready;
    for (nfds_t at = 0; at < count; ++at)
      if ((items[at].events & POLLIN) != 0 && reads_ended.contains(items[at].fd)) items[at].revents |= POLLIN;
    return static_cast<int>(
        std::count_if(items, items + count, [](const posix_pollfd& each) { return each.revents != 0; }));
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

auto ppoll(posix_pollfd* items, nfds_t count, const timespec* timeout, const void* /*mask*/) noexcept -> int {
  if (timeout == nullptr) return ::poll(items, count, -1);
  const long long ms = static_cast<long long>(timeout->tv_sec) * 1000 + (timeout->tv_nsec + 999'999) / 1'000'000;
  return ::poll(items, count, static_cast<int>(std::min<long long>(ms, INT_MAX)));
}
