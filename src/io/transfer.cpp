// src/io/transfer.cpp: the system calls that move bytes, and what their results say of the next one.
#include <braid/io/transfer.hpp>

#include <cerrno>
#include <cstddef>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace braid {
namespace {

auto called(io_port& port, io_interest side, msghdr& message) noexcept -> ::ssize_t {
  const int number = port.descriptor();
  const auto parts = static_cast<int>(message.msg_iovlen);
  const iovec& first = *message.msg_iov;
  if (side == io_interest::read) {
    if (!port.is_socket()) return ::readv(number, message.msg_iov, parts);
    return ::recv(number, first.iov_base, first.iov_len, 0);
  }
  if (!port.is_socket()) return ::writev(number, message.msg_iov, parts);
  if (parts == 1) return ::send(number, first.iov_base, first.iov_len, MSG_NOSIGNAL);
  return ::sendmsg(number, &message, MSG_NOSIGNAL);
}

}  // namespace

auto move_now(io_transfer& item) noexcept -> int {
  io_port& port = item.port();
  const io_interest side = item.side();
  ::ssize_t moved = 0;
  do moved = called(port, side, item.message());
  while (moved < 0 && errno == EINTR);
  if (moved < 0) {
    if (errno == EAGAIN) port.set_ready(side, false);
    return -errno;
  }
  const std::size_t asked = item.message().msg_iov->iov_len;
  if (side == io_interest::read && port.short_reads_tell() && static_cast<std::size_t>(moved) < asked)
    port.set_ready(side, false);
  return static_cast<int>(moved);
}

}  // namespace braid
