// sim/sockets.cpp: replaces libc's functions for sockets. Internet sockets are simulated. Other sockets belong to the
// kernel, which delivers data between threads of one process immediately.
#include <sim/network.hpp>

#include <algorithm>
#include <cstring>

#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

auto is_internet(int family) -> bool { return family == AF_INET || family == AF_INET6; }

/// Returns 0 if there is no error. Otherwise sets errno and returns -1.
auto status_of(int error) -> int { return error == 0 ? 0 : fail(error); }

auto find_parts(const msghdr& whole) -> std::span<const iovec> { return {whole.msg_iov, whole.msg_iovlen}; }

/// Ends the program if it sends a simulated descriptor through a real socket, which is not supported.
void check_passed_descriptors(const msghdr& whole) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&whole); each != nullptr; each = CMSG_NXTHDR(const_cast<msghdr*>(&whole), each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
      int passed = -1;
      std::memcpy(&passed, reinterpret_cast<const char*>(each) + at, sizeof(passed));
      if (find_object(passed) != nullptr)
        refuse("sendmsg with SCM_RIGHTS",
               "a simulated descriptor cannot be passed through a socket; share its number instead");
    }
  }
}

}  // namespace

// --- creating and connecting sockets ---

SIM_CALL(int, socket, int family, int type, int protocol) {
  if (!on()) return REAL(socket)(family, type, protocol);
  point(call::descriptor);
  const int made = REAL(socket)(family, type, protocol);
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (made < 0 || !is_internet(family)) return made;
  if (kind == SOCK_STREAM) set_object(made, make<tcp_socket>(family));
  if (kind == SOCK_DGRAM) set_object(made, make<udp_socket>(family));
  return made;
}

SIM_CALL(int, bind, int descriptor, const sockaddr* at, socklen_t length) {
  if (!on()) return REAL(bind)(descriptor, at, length);
  point(call::bind);
  const auto found = find_as<internet_socket>(descriptor);
  if (found == nullptr) return REAL(bind)(descriptor, at, length);
  address wanted;
  const int error = read_address(at, length, found->family(), wanted);
  return status_of(error != 0 ? error : found->bind(wanted));
}

SIM_CALL(int, listen, int descriptor, int backlog) {
  if (!on()) return REAL(listen)(descriptor, backlog);
  point(call::bind);
  const auto found = find_as<internet_socket>(descriptor);
  if (found == nullptr) return REAL(listen)(descriptor, backlog);
  return status_of(found->is_tcp() ? static_cast<tcp_socket&>(*found).listen(backlog) : EOPNOTSUPP);
}

SIM_CALL(int, connect, int descriptor, const sockaddr* to, socklen_t length) {
  if (!on()) return REAL(connect)(descriptor, to, length);
  const auto found = find_as<internet_socket>(descriptor);
  if (found == nullptr)
    return when_ready(call::connect, descriptor, POLLOUT, false, [&] { return REAL(connect)(descriptor, to, length); });
  point(call::connect);
  return status_of(found->connect(descriptor, to, length));
}

SIM_CALL(int, accept4, int descriptor, sockaddr* from, socklen_t* length, int flags) {
  if (!on()) return REAL(accept4)(descriptor, from, length, flags);
  const auto found = find_as<internet_socket>(descriptor);
  if (found == nullptr)
    return when_ready(call::accept, descriptor, POLLIN, true,
                      [&] { return REAL(accept4)(descriptor, from, length, flags); });
  point(call::accept);
  if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0) return fail(EINVAL);
  if (!found->is_tcp()) return fail(EOPNOTSUPP);
  auto& listener = static_cast<tcp_socket&>(*found);
  if (!listener.wait_for_client(descriptor)) return -1;
  const int made = REAL(socket)(listener.family(), SOCK_STREAM | flags, 0);
  if (made < 0) return made;
  const auto accepted = listener.accept();
  for (const option& each : accepted->options())
    if (each.name != SO_REUSEPORT || each.level != SOL_SOCKET)
      kernel(SYS_setsockopt, made, each.level, each.name, reinterpret_cast<long>(each.value.data()),
             static_cast<long>(each.value.size()));
  write_address(accepted->remote(), listener.family(), from, length);
  set_object(made, accepted);
  return made;
}

SIM_CALL(int, accept, int descriptor, sockaddr* from, socklen_t* length) {
  if (!on()) return REAL(accept)(descriptor, from, length);
  return sim_accept4(descriptor, from, length, 0);
}

SIM_CALL(int, shutdown, int descriptor, int how) {
  if (!on()) return REAL(shutdown)(descriptor, how);
  const auto found = find_as<internet_socket>(descriptor);
  if (found == nullptr)
    return when_ready(call::close, descriptor, 0, false, [&] { return REAL(shutdown)(descriptor, how); });
  point(call::close);
  return how < SHUT_RD || how > SHUT_RDWR ? fail(EINVAL) : status_of(found->shutdown(how));
}

// --- addresses and options ---

SIM_CALL(int, getsockname, int descriptor, sockaddr* shown, socklen_t* length) {
  const auto found = on() ? find_as<internet_socket>(descriptor) : nullptr;
  if (found == nullptr) return REAL(getsockname)(descriptor, shown, length);
  write_address(found->local(), found->family(), shown, length);
  return 0;
}

SIM_CALL(int, getpeername, int descriptor, sockaddr* shown, socklen_t* length) {
  const auto found = on() ? find_as<internet_socket>(descriptor) : nullptr;
  if (found == nullptr) return REAL(getpeername)(descriptor, shown, length);
  if (!found->has_peer()) return fail(ENOTCONN);
  write_address(found->remote(), found->family(), shown, length);
  return 0;
}

SIM_CALL(int, setsockopt, int descriptor, int level, int name, const void* value, socklen_t size) {
  const int status = REAL(setsockopt)(descriptor, level, name, value, size);
  const auto found = on() && status == 0 ? find_as<internet_socket>(descriptor) : nullptr;
  if (found == nullptr || value == nullptr) return status;
  const auto* first = static_cast<const char*>(value);
  found->set_option({level, name, bytes(first, first + size)});
  return status;
}

namespace {

auto write_option(int value, void* to, socklen_t* size) -> int {
  std::memcpy(to, &value, std::min<std::size_t>(*size, sizeof(value)));
  *size = std::min<socklen_t>(*size, sizeof(value));
  return 0;
}

/// Corrects TCP_INFO of a simulated connection, because the kernel's socket is not connected.
void correct_info(const tcp_socket& shown, void* value, socklen_t size) {
  tcp_info info{};
  std::memcpy(&info, value, std::min<std::size_t>(size, sizeof(info)));
  info.tcpi_state = static_cast<std::uint8_t>(shown.system_state());
  info.tcpi_unacked = shown.is_listening() ? static_cast<std::uint32_t>(shown.waiting()) : 0;
  info.tcpi_sacked = shown.is_listening() ? static_cast<std::uint32_t>(shown.backlog()) : 0;
  std::memcpy(value, &info, std::min<std::size_t>(size, sizeof(info)));
}

}  // namespace

SIM_CALL(int, getsockopt, int descriptor, int level, int name, void* value, socklen_t* size) {
  const auto found = on() ? find_as<internet_socket>(descriptor) : nullptr;
  if (found == nullptr) return REAL(getsockopt)(descriptor, level, name, value, size);
  if (level == SOL_SOCKET && name == SO_ERROR) return write_option(found->take_error(), value, size);
  if (level == SOL_SOCKET && name == SO_ACCEPTCONN) return write_option(found->is_listening() ? 1 : 0, value, size);
  const int status = REAL(getsockopt)(descriptor, level, name, value, size);
  if (status == 0 && level == IPPROTO_TCP && name == TCP_INFO)
    correct_info(static_cast<tcp_socket&>(*found), value, *size);
  return status;
}

// --- sending and receiving ---

SIM_CALL(ssize_t, recvfrom, int descriptor, void* memory, size_t size, int flags, sockaddr* from, socklen_t* length) {
  if (!on()) return REAL(recvfrom)(descriptor, memory, size, flags, from, length);
  if (const auto found = find_object(descriptor)) {
    const iovec part{memory, size};
    message wanted{.parts = {&part, 1}, .flags = flags, .from = from, .from_length = length};
    return found->receive(descriptor, wanted);
  }
  return when_ready(call::read, descriptor, POLLIN, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(recvfrom)(descriptor, memory, size, flags, from, length); });
}

SIM_CALL(ssize_t, recv, int descriptor, void* memory, size_t size, int flags) {
  if (!on()) return REAL(recv)(descriptor, memory, size, flags);
  return sim_recvfrom(descriptor, memory, size, flags, nullptr, nullptr);
}

SIM_CALL(ssize_t, __recv_chk, int descriptor, void* memory, size_t size, size_t /*room*/, int flags) {
  return sim_recvfrom(descriptor, memory, size, flags, nullptr, nullptr);
}

SIM_CALL(ssize_t, __recvfrom_chk, int descriptor, void* memory, size_t size, size_t /*room*/, int flags, sockaddr* from,
         socklen_t* length) {
  return sim_recvfrom(descriptor, memory, size, flags, from, length);
}

SIM_CALL(ssize_t, recvmsg, int descriptor, msghdr* whole, int flags) {
  if (!on()) return REAL(recvmsg)(descriptor, whole, flags);
  if (const auto found = find_object(descriptor)) {
    message wanted{.parts = find_parts(*whole),
                   .flags = flags,
                   .from = static_cast<sockaddr*>(whole->msg_name),
                   .from_length = whole->msg_name == nullptr ? nullptr : &whole->msg_namelen};
    const ssize_t size = found->receive(descriptor, wanted);
    whole->msg_controllen = 0;
    whole->msg_flags = wanted.found_flags;
    return size;
  }
  return when_ready(call::read, descriptor, POLLIN, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(recvmsg)(descriptor, whole, flags); });
}

SIM_CALL(ssize_t, sendto, int descriptor, const void* memory, size_t size, int flags, const sockaddr* to,
         socklen_t length) {
  if (!on()) return REAL(sendto)(descriptor, memory, size, flags, to, length);
  if (const auto found = find_object(descriptor)) {
    const iovec part{const_cast<void*>(memory), size};
    return found->send(descriptor, {.parts = {&part, 1}, .flags = flags, .to = to, .to_length = length});
  }
  return when_ready(call::write, descriptor, POLLOUT, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(sendto)(descriptor, memory, size, flags, to, length); });
}

SIM_CALL(ssize_t, send, int descriptor, const void* memory, size_t size, int flags) {
  if (!on()) return REAL(send)(descriptor, memory, size, flags);
  return sim_sendto(descriptor, memory, size, flags, nullptr, 0);
}

SIM_CALL(ssize_t, sendmsg, int descriptor, const msghdr* whole, int flags) {
  if (!on()) return REAL(sendmsg)(descriptor, whole, flags);
  if (const auto found = find_object(descriptor)) {
    const auto* to = static_cast<const sockaddr*>(whole->msg_name);
    return found->send(descriptor,
                       {.parts = find_parts(*whole), .flags = flags, .to = to, .to_length = whole->msg_namelen});
  }
  check_passed_descriptors(*whole);
  return when_ready(call::write, descriptor, POLLOUT, (flags & MSG_DONTWAIT) == 0,
                    [&] { return REAL(sendmsg)(descriptor, whole, flags); });
}

SIM_CALL(int, sendmmsg, int descriptor, mmsghdr* all, unsigned count, int flags) {
  if (!on()) return REAL(sendmmsg)(descriptor, all, count, flags);
  unsigned sent = 0;
  for (; sent < count; ++sent) {
    const ssize_t size = sim_sendmsg(descriptor, &all[sent].msg_hdr, flags);
    if (size < 0) return sent == 0 ? -1 : static_cast<int>(sent);
    all[sent].msg_len = static_cast<unsigned>(size);
  }
  return static_cast<int>(sent);
}

SIM_CALL(int, recvmmsg, int descriptor, mmsghdr* all, unsigned count, int flags, timespec* limit) {
  if (!on()) return REAL(recvmmsg)(descriptor, all, count, flags, limit);
  unsigned found = 0;
  for (; found < count; ++found) {
    const int more = found > 0 && (flags & MSG_WAITFORONE) != 0 ? MSG_DONTWAIT : 0;
    const ssize_t size = sim_recvmsg(descriptor, &all[found].msg_hdr, (flags & ~MSG_WAITFORONE) | more);
    if (size < 0) return found == 0 ? -1 : static_cast<int>(found);
    all[found].msg_len = static_cast<unsigned>(size);
  }
  return static_cast<int>(found);
}

SIM_CALL(ssize_t, sendfile, int to, int from, off_t* offset, size_t count) {
  if (!on() || find_object(to) == nullptr) return REAL(sendfile)(to, from, offset, count);
  bytes data(std::min<std::size_t>(count, 65'536));
  const off_t at = offset != nullptr ? *offset : ::lseek(from, 0, SEEK_CUR);
  const ssize_t size = ::pread(from, data.data(), data.size(), at);
  if (size <= 0) return size;
  const ssize_t sent = sim_sendto(to, data.data(), static_cast<std::size_t>(size), 0, nullptr, 0);
  if (sent <= 0) return sent;
  if (offset != nullptr)
    *offset = at + sent;
  else
    ::lseek(from, at + sent, SEEK_SET);
  return sent;
}

SIM_CALL(ssize_t, sendfile64, int to, int from, off_t* offset, size_t count) {
  return sim_sendfile(to, from, offset, count);
}

SIM_CALL(ssize_t, splice, int from, off_t* from_offset, int to, off_t* to_offset, size_t count, unsigned flags) {
  if (on() && (find_object(from) != nullptr || find_object(to) != nullptr))
    return fail(EINVAL);  // the kernel returns the same error
  return REAL(splice)(from, from_offset, to, to_offset, count, flags);
}

}  // namespace sim
