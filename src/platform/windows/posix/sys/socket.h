// src/platform/windows/posix/sys/socket.h: declares the sockets of POSIX for Windows. A socket is an int, and a call
// that fails returns -1 and sets `errno`.
//
// winsock2.h has functions with the same names for a SOCKET. The functions here are overloads for an int, so that a
// program can use both. Only `socket` has the same parameters in both. A program that includes winsock2.h first keeps
// `socket` of Winsock.
#pragma once

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif

#if !defined(_WINSOCK2API_)
#define socket winsock_socket
#include <winsock2.h>
#undef socket
/// As socket(2), with SOCK_NONBLOCK and SOCK_CLOEXEC. Errors: EOPNOTSUPP for AF_UNIX.
auto socket(int family, int type, int protocol) noexcept -> int;
#endif
#include <ws2tcpip.h>

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <concepts>
#include <cstddef>

// Names of windows.h that programs use for other things.
#undef near
#undef far
#undef small
#undef interface
#undef ERROR
#undef DELETE
#undef IN
#undef OUT

using sa_family_t = unsigned short;

struct msghdr {
  void* msg_name;
  socklen_t msg_namelen;
  iovec* msg_iov;
  std::size_t msg_iovlen;
  void* msg_control;
  std::size_t msg_controllen;
  int msg_flags;
};

// Flags of `socket` and `accept4`.
#define SOCK_NONBLOCK 0x10000
#define SOCK_CLOEXEC 0x20000

// Windows raises no signal, so the first flag has no effect. The second one has no effect either, because the sockets
// of braid never block.
#define MSG_NOSIGNAL 0
#define MSG_DONTWAIT 0
#if !defined(MSG_TRUNC)
#define MSG_TRUNC 0x100
#endif

#define SHUT_RD SD_RECEIVE
#define SHUT_WR SD_SEND
#define SHUT_RDWR SD_BOTH

#define SO_REUSEPORT 0x7ff0  // `setsockopt` refuses it with EOPNOTSUPP

// Numbers that errno.h of mingw-w64 lacks, with the values of Winsock.
#if !defined(EHOSTDOWN)
#define EHOSTDOWN 10064
#endif
#if !defined(ENONET)
#define ENONET 10070
#endif

auto bind(int number, const sockaddr* address, socklen_t size) noexcept -> int;
auto listen(int number, int backlog) noexcept -> int;
auto accept4(int number, sockaddr* address, socklen_t* size, int flags) noexcept -> int;
/// As connect(2): the first call on a non-blocking socket fails with EINPROGRESS. A later call reports how the attempt
/// ended: EISCONN, or the error of the attempt.
auto connect(int number, const sockaddr* address, socklen_t size) noexcept -> int;
auto shutdown(int number, int side) noexcept -> int;
auto getsockname(int number, sockaddr* address, socklen_t* size) noexcept -> int;
auto getpeername(int number, sockaddr* address, socklen_t* size) noexcept -> int;
auto getsockopt(int number, int level, int name, void* value, socklen_t* size) noexcept -> int;
/// As setsockopt(2). SO_REUSEADDR of a TCP socket has no effect, because Windows lets a program bind an address again
/// without it, and because it would let two listeners have one address.
auto setsockopt(int number, int level, int name, const void* value, socklen_t size) noexcept -> int;
/// Connects two TCP sockets with each other, because Windows has no socketpair(2). The family is ignored.
auto socketpair(int family, int type, int protocol, int* numbers) noexcept -> int;

auto recvmsg(int number, msghdr* message, int flags) noexcept -> ssize_t;
auto sendmsg(int number, const msghdr* message, int flags) noexcept -> ssize_t;

// These are templates, so that no conversion makes the function of Winsock an equally good choice.
template <typename Byte, std::integral Size>
auto recv(int number, Byte* bytes, Size size, int flags) noexcept -> ssize_t {
  iovec part{.iov_base = bytes, .iov_len = static_cast<std::size_t>(size)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return ::recvmsg(number, &message, flags);
}

template <typename Byte, std::integral Size>
auto sendto(int number, const Byte* bytes, Size size, int flags, const sockaddr* address,
            socklen_t address_size) noexcept -> ssize_t {
  iovec part{.iov_base = const_cast<Byte*>(bytes), .iov_len = static_cast<std::size_t>(size)};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(address);
  message.msg_namelen = address_size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return ::sendmsg(number, &message, flags);
}

template <typename Byte, std::integral Size>
auto send(int number, const Byte* bytes, Size size, int flags) noexcept -> ssize_t {
  return ::sendto(number, bytes, size, flags, static_cast<const sockaddr*>(nullptr), socklen_t{0});
}
