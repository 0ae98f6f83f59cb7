// sim/udp.cpp: simulates datagrams between sockets of the process. A delayed datagram may arrive after datagrams that
// were sent later.
#include <sim/machine.hpp>

#include <algorithm>

namespace sim {
namespace {

constexpr std::size_t largest_datagram = 65'507;
constexpr std::size_t usual_buffer = 212'992;

}  // namespace

auto udp_socket::ready() const -> std::uint32_t {
  std::uint32_t found = POLLOUT | (error_ != 0 ? POLLERR : 0);
  if (!input_.empty() || is_read_shut_) found |= POLLIN;
  if (is_read_shut_) found |= POLLRDHUP;
  return found;
}

auto udp_socket::unread() const -> int { return input_.empty() ? 0 : static_cast<int>(input_.front().data.size()); }

auto udp_socket::connect(int /*descriptor*/, const sockaddr* to, socklen_t length) -> int {
  if (to != nullptr && length >= sizeof(sa_family_t) && to->sa_family == AF_UNSPEC) {
    has_peer_ = false;
    remote_ = {};
    return 0;
  }
  address wanted;
  if (const int error = read_address(to, length, family_, wanted); error != 0) return error;
  if (wanted.is_any()) wanted.ip = loopback(wanted.is_v4()).ip;
  bind_if_free();
  if (local_.is_any()) local_.ip = own_address(wanted).ip;
  remote_ = wanted;
  has_peer_ = true;
  return 0;
}

auto udp_socket::shutdown(int how) -> int {
  if (!has_peer_) return ENOTCONN;
  if (how != SHUT_WR) is_read_shut_ = true;
  changed(POLLIN | POLLRDHUP);
  return 0;
}

void udp_socket::arrive(const address& from, bytes data) {
  if (size_ + data.size() > buffer(SO_RCVBUF, usual_buffer)) return;
  size_ += data.size();
  input_.push_back({from, std::move(data)});
  changed(POLLIN);
}

void udp_socket::refuse(int error) {
  if (!has_peer_) return;  // the kernel notifies connected sockets only
  error_ = error;
  changed(POLLERR);
}

auto udp_socket::send(int /*descriptor*/, const message& given) -> ssize_t {
  const std::shared_ptr<object> keep = shared_from_this();
  point(call::write);
  if (error_ != 0) return fail(take_error());
  address target = remote_;
  if (given.to != nullptr) {
    if (const int error = read_address(given.to, given.to_length, family_, target); error != 0) return fail(error);
  } else if (!has_peer_) {
    return fail(EDESTADDRREQ);
  }
  if (target.port == 0) return fail(EINVAL);
  if (target.is_any()) target.ip = loopback(target.is_v4()).ip;
  const bool is_broadcast =
      target.is_v4() && std::ranges::all_of(std::span(target.ip).subspan(12), [](auto each) { return each == 255; });
  if (is_broadcast && !has_set(SOL_SOCKET, SO_BROADCAST)) return fail(EACCES);
  bytes data;
  given.gather(data);
  const std::size_t size = data.size();
  if (size > largest_datagram) return fail(EMSGSIZE);
  bind_if_free();
  address source = local_;
  if (source.is_any()) source.ip = own_address(target).ip;
  if (!target.is_local() && send_datagram(word::datagram, source, target, data)) return static_cast<ssize_t>(size);
  // The side with the lower port is treated as the server, because clients get their ports from the upper range.
  const bool to_server = target.port < source.port;
  const bool is_cut = cut_until(to_server ? target.port : source.port, to_server) != 0;
  if (is_cut || !target.is_local() || happens(fault::loss)) return static_cast<ssize_t>(size);
  nanoseconds at = now() + latency();
  if (happens(fault::delay)) {
    at += static_cast<nanoseconds>(network_chance(second));
  } else {
    at = last_arrival_ = std::max(at, last_arrival_);
  }
  add_event({.at = at,
             .what = arrival::datagram,
             .to = shared_from_this(),
             .data = std::move(data),
             .source = source,
             .target = target});
  return static_cast<ssize_t>(size);
}

auto udp_socket::receive(int descriptor, message& wanted) -> ssize_t {
  const std::shared_ptr<object> keep = shared_from_this();
  point(call::read);
  const nanoseconds deadline = timeout(SO_RCVTIMEO);
  const bool may_wait = (wanted.flags & MSG_DONTWAIT) == 0 && !is_nonblocking(descriptor);
  while (input_.empty()) {
    if (error_ != 0) return fail(take_error());
    if (is_read_shut_) return 0;
    if (!wait_for(call::read, descriptor, *this, POLLIN, may_wait, deadline)) return -1;
  }
  const datagram& first = input_.front();
  const std::size_t size = first.data.size();
  const std::size_t count = wanted.scatter(first.data);
  write_address(first.from, family_, wanted.from, wanted.from_length);
  if (count < size) wanted.found_flags |= MSG_TRUNC;
  if ((wanted.flags & MSG_PEEK) == 0) {
    size_ -= size;
    input_.pop_front();
  }
  return static_cast<ssize_t>((wanted.flags & MSG_TRUNC) != 0 ? size : count);
}

}  // namespace sim
