// src/io/sockets.cpp: creates sockets, and reads and sets their options and addresses.
#include "sockets.hpp"

#include "../platform/descriptors.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#if !defined(TCP_KEEPIDLE)
#define TCP_KEEPIDLE TCP_KEEPALIVE  // the name on macOS
#endif

namespace braid::detail {
namespace {

using address_fn = int(int, sockaddr*, socklen_t*);

auto find_address(int number, address_fn* ask) -> result<socket_address> {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (ask(number, address, &size) != 0) return fail(last_system_error());
  return socket_address::from_system(address, size);
}

auto set_keep_alive(int number, std::chrono::seconds span) noexcept -> result<void> {
  constexpr std::chrono::seconds max_span(32'767);  // the system refuses larger values
  const auto seconds = static_cast<int>(std::min(span, max_span).count());
  if (auto set = set_option(number, SOL_SOCKET, SO_KEEPALIVE, 1); !set) return set;
  if (auto set = set_option(number, IPPROTO_TCP, TCP_KEEPIDLE, seconds); !set) return set;
  return set_option(number, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
}

}  // namespace

auto checked(int status) noexcept -> result<void> {
  if (status < 0) return fail(last_system_error());
  return {};
}

auto do_not_block(int number) noexcept -> result<void> { return checked(set_non_blocking(number)); }

auto make_socket(int family, int type) -> result<descriptor> {
  descriptor made(open_socket(family, type));
  if (!made) return fail(last_system_error());
  return made;
}

auto set_option(int number, int level, int name, int value) noexcept -> result<void> {
  return checked(::setsockopt(number, level, name, &value, sizeof(value)));
}

auto set_stream_options(int number, int family, const stream_socket::options& options) noexcept -> result<void> {
  result<void> set;
  const bool is_tcp = family == AF_INET || family == AF_INET6;
  if (is_tcp) set = set_option(number, IPPROTO_TCP, TCP_NODELAY, options.no_delay ? 1 : 0);
  if (set && is_tcp && options.keep_alive) set = set_keep_alive(number, *options.keep_alive);
  if (set && options.send_buffer) set = set_option(number, SOL_SOCKET, SO_SNDBUF, *options.send_buffer);
  if (set && options.receive_buffer) set = set_option(number, SOL_SOCKET, SO_RCVBUF, *options.receive_buffer);
  return set;
}

auto read_local_address(int number) -> result<socket_address> { return find_address(number, &::getsockname); }
auto read_peer_address(int number) -> result<socket_address> { return find_address(number, &::getpeername); }

}  // namespace braid::detail
