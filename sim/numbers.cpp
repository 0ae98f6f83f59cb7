// sim/numbers.cpp: handles system calls on descriptors that a program makes by their numbers, with syscall(2). Calls
// libc's function with the same arguments instead.
#include <sim/real.hpp>

#include <type_traits>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

/// Declares a replaced function that another file defines with SIM_CALL.
#define SIM_KNOWN(result, name, ...) extern "C" auto sim_##name(__VA_ARGS__)->result asm(#name)

namespace sim {

SIM_KNOWN(ssize_t, read, int descriptor, void* memory, size_t size);
SIM_KNOWN(ssize_t, write, int descriptor, const void* memory, size_t size);
SIM_KNOWN(ssize_t, readv, int descriptor, const iovec* parts, int count);
SIM_KNOWN(ssize_t, writev, int descriptor, const iovec* parts, int count);
SIM_KNOWN(ssize_t, pwrite, int descriptor, const void* memory, size_t size, off_t offset);
SIM_KNOWN(int, ftruncate, int descriptor, off_t size);
SIM_KNOWN(int, fsync, int descriptor);
SIM_KNOWN(int, fdatasync, int descriptor);
SIM_KNOWN(int, renameat2, int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
SIM_KNOWN(int, close, int descriptor);
SIM_KNOWN(int, dup, int descriptor);
SIM_KNOWN(int, dup3, int descriptor, int wanted, int flags);
SIM_KNOWN(int, socket, int family, int type, int protocol);
SIM_KNOWN(int, bind, int descriptor, const sockaddr* at, socklen_t length);
SIM_KNOWN(int, listen, int descriptor, int backlog);
SIM_KNOWN(int, connect, int descriptor, const sockaddr* to, socklen_t length);
SIM_KNOWN(int, accept4, int descriptor, sockaddr* from, socklen_t* length, int flags);
SIM_KNOWN(int, shutdown, int descriptor, int how);
SIM_KNOWN(int, getsockname, int descriptor, sockaddr* shown, socklen_t* length);
SIM_KNOWN(int, getpeername, int descriptor, sockaddr* shown, socklen_t* length);
SIM_KNOWN(int, setsockopt, int descriptor, int level, int name, const void* value, socklen_t size);
SIM_KNOWN(int, getsockopt, int descriptor, int level, int name, void* value, socklen_t* size);
SIM_KNOWN(ssize_t, recvfrom, int descriptor, void* memory, size_t size, int flags, sockaddr* from, socklen_t* length);
SIM_KNOWN(ssize_t, sendto, int descriptor, const void* memory, size_t size, int flags, const sockaddr* to,
          socklen_t length);
SIM_KNOWN(ssize_t, recvmsg, int descriptor, msghdr* whole, int flags);
SIM_KNOWN(ssize_t, sendmsg, int descriptor, const msghdr* whole, int flags);
SIM_KNOWN(int, epoll_create1, int flags);
SIM_KNOWN(int, epoll_ctl, int descriptor, int operation, int about, epoll_event* event);
SIM_KNOWN(int, epoll_pwait, int descriptor, epoll_event* events, int room, int limit, const sigset_t* mask);
SIM_KNOWN(int, epoll_pwait2, int descriptor, epoll_event* events, int room, const timespec* limit,
          const sigset_t* mask);
SIM_KNOWN(int, ppoll, pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask);
SIM_KNOWN(int, timerfd_create, int clock, int flags);
SIM_KNOWN(int, timerfd_settime, int descriptor, int flags, const itimerspec* wanted, itimerspec* old);
SIM_KNOWN(int, timerfd_gettime, int descriptor, itimerspec* shown);

namespace {

template <typename Wanted>
auto from_word(long word) -> Wanted {
  if constexpr (std::is_pointer_v<Wanted>) {
    return reinterpret_cast<Wanted>(word);
  } else {
    return static_cast<Wanted>(word);
  }
}

template <typename Result, typename... Arguments>
auto call_with(const long* words, Result (*function)(Arguments...)) -> long {
  return [&]<std::size_t... At>(std::index_sequence<At...>) -> long {
    return function(from_word<Arguments>(words[At])...);
  }(std::index_sequence_for<Arguments...>());
}

}  // namespace

auto call_on_descriptor(long number, const long* words, long& result) -> bool {
  switch (number) {
    case SYS_read: result = call_with(words, &sim_read); break;
    case SYS_write: result = call_with(words, &sim_write); break;
    case SYS_readv: result = call_with(words, &sim_readv); break;
    case SYS_writev: result = call_with(words, &sim_writev); break;
    case SYS_pwrite64: result = call_with(words, &sim_pwrite); break;
    case SYS_ftruncate: result = call_with(words, &sim_ftruncate); break;
    case SYS_fsync: result = call_with(words, &sim_fsync); break;
    case SYS_fdatasync: result = call_with(words, &sim_fdatasync); break;
    case SYS_renameat2: result = call_with(words, &sim_renameat2); break;
    case SYS_close: result = call_with(words, &sim_close); break;
    case SYS_dup: result = call_with(words, &sim_dup); break;
    case SYS_dup3: result = call_with(words, &sim_dup3); break;
    case SYS_socket: result = call_with(words, &sim_socket); break;
    case SYS_bind: result = call_with(words, &sim_bind); break;
    case SYS_listen: result = call_with(words, &sim_listen); break;
    case SYS_connect: result = call_with(words, &sim_connect); break;
    case SYS_accept4: result = call_with(words, &sim_accept4); break;
    case SYS_shutdown: result = call_with(words, &sim_shutdown); break;
    case SYS_getsockname: result = call_with(words, &sim_getsockname); break;
    case SYS_getpeername: result = call_with(words, &sim_getpeername); break;
    case SYS_setsockopt: result = call_with(words, &sim_setsockopt); break;
    case SYS_getsockopt: result = call_with(words, &sim_getsockopt); break;
    case SYS_recvfrom: result = call_with(words, &sim_recvfrom); break;
    case SYS_sendto: result = call_with(words, &sim_sendto); break;
    case SYS_recvmsg: result = call_with(words, &sim_recvmsg); break;
    case SYS_sendmsg: result = call_with(words, &sim_sendmsg); break;
    case SYS_epoll_create1: result = call_with(words, &sim_epoll_create1); break;
    case SYS_epoll_ctl: result = call_with(words, &sim_epoll_ctl); break;
    case SYS_epoll_pwait: result = call_with(words, &sim_epoll_pwait); break;
    case SYS_epoll_pwait2: result = call_with(words, &sim_epoll_pwait2); break;
    case SYS_ppoll: result = call_with(words, &sim_ppoll); break;
    case SYS_timerfd_create: result = call_with(words, &sim_timerfd_create); break;
    case SYS_timerfd_settime: result = call_with(words, &sim_timerfd_settime); break;
    case SYS_timerfd_gettime: result = call_with(words, &sim_timerfd_gettime); break;
    default: return false;
  }
  return true;
}

}  // namespace sim
