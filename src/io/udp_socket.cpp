// src/io/udp_socket.cpp: sends and receives datagrams.
#include <braid/io/sockets.hpp>

#include "../platform/system.hpp"
#include "sockets.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/socket.h>

namespace braid {
namespace {

auto set_udp_options(int number, const udp_socket::options& options) noexcept -> result<void> {
  result<void> set;
  if (options.reuse_port) set = detail::set_option(number, SOL_SOCKET, SO_REUSEPORT, 1);
  if (set && options.broadcast) set = detail::set_option(number, SOL_SOCKET, SO_BROADCAST, 1);
  if (set && options.send_buffer) set = detail::set_option(number, SOL_SOCKET, SO_SNDBUF, *options.send_buffer);
  if (set && options.receive_buffer) set = detail::set_option(number, SOL_SOCKET, SO_RCVBUF, *options.receive_buffer);
  return set;
}

auto socket_failure(int error) -> std::unexpected<std::error_code> { return fail(detail::to_error_code(error)); }

}  // namespace

namespace detail {

receive_operation::receive_operation(open_descriptor* from, std::span<std::byte> buffer) noexcept
    : io_operation(from, io_interest::read, aim::readiness),
      room_{.iov_base = buffer.data(), .iov_len = buffer.size()} {}

auto receive_operation::attempt() noexcept -> bool {
  sockaddr_storage sender{};
  msghdr message{};
  message.msg_name = &sender;
  message.msg_namelen = sizeof(sender);
  message.msg_iov = &room_;
  message.msg_iovlen = 1;
  ::ssize_t size = 0;
  do size = ::recvmsg(registration().descriptor(), &message, 0);
  while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) {
    registration().set_ready(io_interest::read, false);
    return false;
  }
  if (size < 0) return absorb(-errno);
  result_ =
      datagram{.size = static_cast<std::size_t>(size), .is_whole = (message.msg_flags & MSG_TRUNC) == 0, .from = {}};
  const auto* const address = reinterpret_cast<const sockaddr*>(&sender);
  if (const auto known = socket_address::from_system(address, message.msg_namelen)) result_->from = *known;
  return true;
}

auto receive_operation::absorb(int outcome) noexcept -> bool {
  result_ = socket_failure(-outcome);
  return true;
}

send_operation::send_operation(open_descriptor* through, std::span<const std::byte> bytes,
                               const socket_address* address) noexcept
    : io_operation(through, io_interest::write, aim::readiness),
      bytes_{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()},  // only read
      address_(address) {}

auto send_operation::attempt() noexcept -> bool {
  const sockaddr* const address = address_ != nullptr ? address_->data() : nullptr;
  const socklen_t size = address_ != nullptr ? address_->size() : 0;
  ::ssize_t sent = 0;
  do sent = ::sendto(registration().descriptor(), bytes_.iov_base, bytes_.iov_len, MSG_NOSIGNAL, address, size);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN) {
    registration().set_ready(io_interest::write, false);
    return false;
  }
  return sent >= 0 || absorb(-errno);
}

auto send_operation::absorb(int outcome) noexcept -> bool {
  result_ = socket_failure(-outcome);
  return true;
}

}  // namespace detail

auto udp_socket::bind(loop& loop, const socket_address& address, const udp_socket::options& options)
    -> result<udp_socket> {
  if (!address.is_ip()) return fail(errc::invalid_argument);
  auto made = detail::make_socket(address.family(), SOCK_DGRAM);
  if (!made) return fail(made.error());
  if (auto set = set_udp_options(made->number(), options); !set) return fail(set.error());
  if (auto bound = detail::checked(::bind(made->number(), address.data(), address.size())); !bound)
    return fail(bound.error());
  udp_socket opened;
  opened.open_ =
      std::make_unique<detail::open_descriptor>(loop, std::move(*made), detail::io_registration::kind::socket);
  return opened;
}

auto udp_socket::connect(const socket_address& address) const noexcept -> result<void> {
  return detail::checked(::connect(open_ != nullptr ? open_->number() : -1, address.data(), address.size()));
}

auto udp_socket::local_address() const -> result<socket_address> {
  return detail::read_local_address(open_ != nullptr ? open_->number() : -1);
}

}  // namespace braid
