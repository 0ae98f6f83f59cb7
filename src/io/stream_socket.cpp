// src/io/stream_socket.cpp: connects stream sockets.
#include <braid/io/sockets.hpp>

#include "../platform/system.hpp"
#include "sockets.hpp"

#include "../platform/descriptors.hpp"

#include <braid/coro/sleep.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <sys/socket.h>

namespace braid {
namespace {

/// Connects a socket. Returns 0 or the number of an error: EAGAIN if the queue of a Unix listener is full.
class connect_operation final : public detail::io_operation {
 public:
  connect_operation(detail::open_descriptor* through, const socket_address& address) noexcept
      : io_operation(through, io_interest::write, aim::readiness), address_(&address) {}
  [[nodiscard]] auto await_resume() const noexcept -> int { return error_; }

 private:
  auto attempt() noexcept -> bool override {
    if (::connect(registration().descriptor(), address_->data(), address_->size()) == 0) return true;
    if (errno == EINPROGRESS || errno == EALREADY || errno == EINTR) {
      registration().set_ready(io_interest::write, false);
      return false;
    }
    if (errno != EISCONN) error_ = errno;
    return true;
  }
  auto absorb(int outcome) noexcept -> bool override {
    error_ = -outcome;
    return true;
  }

  const socket_address* address_;
  int error_ = 0;
};

/// Returns whether TCP has connected the socket to itself. That happens if no process listens and the system chose the
/// target's port as the socket's own port.
auto is_connected_to_itself(int number) -> bool {
  const auto own = detail::read_local_address(number);
  const auto peer = detail::read_peer_address(number);
  return own && peer && own->is_ip() && *own == *peer;
}

}  // namespace

auto stream_socket::connect(loop& loop, socket_address address, stream_socket::options options)
    -> task<result<stream_socket>> {
  auto made = detail::make_socket(address.family(), SOCK_STREAM);
  if (!made) co_return fail(made.error());
  if (auto set = detail::set_stream_options(made->number(), address.family(), options); !set)
    co_return fail(set.error());
  stream_socket connection(loop, std::move(*made), address.family());
  int error = EAGAIN;
  for (auto pause = 1ms; error == EAGAIN; pause = std::min(2 * pause, 16ms)) {
    error = co_await connect_operation(connection.registration(), address);
    if (error == EAGAIN) co_await sleep_for(pause);
  }
  if (error != 0) co_return fail(detail::to_error_code(error));
  if (is_connected_to_itself(connection.number())) co_return fail(std::make_error_code(std::errc::connection_refused));
  co_return connection;
}

auto stream_socket::adopt(loop& loop, descriptor connected) -> result<stream_socket> {
  const auto address = detail::read_local_address(connected.number());
  if (!address) return fail(address.error());
  if (auto set = detail::do_not_block(connected.number()); !set) return fail(set.error());
  return stream_socket(loop, std::move(connected), address->family());
}

auto stream_socket::pair(loop& loop) -> result<std::pair<stream_socket, stream_socket>> {
  std::array<int, 2> numbers{};
  if (detail::open_socket_pair(numbers) != 0) return fail(last_system_error());
  stream_socket first(loop, descriptor(numbers[0]), AF_UNIX);
  stream_socket second(loop, descriptor(numbers[1]), AF_UNIX);
  return std::pair(std::move(first), std::move(second));
}

auto stream_socket::shutdown(stream_socket::side side) const noexcept -> result<void> {
  const int how = side == stream_socket::side::read    ? SHUT_RD
                  : side == stream_socket::side::write ? SHUT_WR
                                                       : SHUT_RDWR;
  return detail::checked(::shutdown(number(), how));
}

auto stream_socket::local_address() const -> result<socket_address> { return detail::read_local_address(number()); }
auto stream_socket::peer_address() const -> result<socket_address> { return detail::read_peer_address(number()); }

auto stream_socket::set_options(const stream_socket::options& options) const noexcept -> result<void> {
  const auto address = local_address();
  if (!address) return fail(address.error());
  return detail::set_stream_options(number(), address->family(), options);
}

}  // namespace braid
