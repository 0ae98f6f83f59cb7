// src/io/transfer.cpp: makes the system calls that read and write, and derives from their results whether the next call
// can succeed.
#include <braid/io/detail/transfer.hpp>

#include "../platform/descriptors.hpp"

#include <cerrno>
#include <cstddef>

#include <sys/socket.h>
#include <sys/uio.h>

namespace braid::detail {
namespace {

auto called(io_registration& registration, io_interest side, msghdr& message) noexcept -> ::ssize_t {
  const int number = registration.descriptor();
  const auto parts = static_cast<int>(message.msg_iovlen);
  const iovec& first = *message.msg_iov;
  if (side == io_interest::read) {
    if (!registration.is_socket()) return read_parts(number, message.msg_iov, parts);
    return ::recv(number, first.iov_base, first.iov_len, 0);
  }
  if (!registration.is_socket()) return write_parts(number, message.msg_iov, parts);
  if (parts == 1) return ::send(number, first.iov_base, first.iov_len, MSG_NOSIGNAL);
  return ::sendmsg(number, &message, MSG_NOSIGNAL);
}

}  // namespace

auto move_now(io_transfer& item) noexcept -> int {
  io_registration& registration = item.registration();
  const io_interest side = item.side();
  ::ssize_t moved = 0;
  do moved = called(registration, side, item.message());
  while (moved < 0 && errno == EINTR);
  if (moved < 0) {
    if (errno == EAGAIN) registration.set_ready(side, false);
    return -errno;
  }
  const std::size_t asked = item.message().msg_iov->iov_len;
  if (side == io_interest::read && registration.short_reads_are_final() && static_cast<std::size_t>(moved) < asked)
    registration.set_ready(side, false);
  return static_cast<int>(moved);
}

}  // namespace braid::detail
