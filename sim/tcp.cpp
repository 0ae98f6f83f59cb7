// sim/tcp.cpp: simulates TCP connections between sockets of the process. Bytes arrive in order, after a latency that
// the seed chooses.
#include <sim/machine.hpp>

#include <algorithm>
#include <cstring>

#include <netinet/tcp.h>

namespace sim {
namespace {

constexpr std::size_t usual_buffer = 512 * 1024;
constexpr int max_attempts = 7;                 // the attempts of connect, which take 127 s
constexpr int max_answers = 6;                  // the answers to a request of a connection, which take 63 s
constexpr std::size_t window_step = 64 * 1024;  // the bytes that another machine reads before it notifies the sender

void raise_pipe_signal(int flags) {
  if ((flags & MSG_NOSIGNAL) != 0) return;
  send_signal(*self, SIGPIPE);
  run_handlers();  // the handler runs within the call
}

auto may_wait(int descriptor, int flags) -> bool { return (flags & MSG_DONTWAIT) == 0 && !is_nonblocking(descriptor); }

}  // namespace

auto tcp_socket::capacity() const -> std::size_t {
  const std::size_t others = peer_ == nullptr ? usual_buffer : peer_->buffer(SO_RCVBUF, usual_buffer);
  return buffer(SO_SNDBUF, usual_buffer) + others;
}

auto tcp_socket::room() const -> std::size_t {
  const std::size_t most = capacity();
  const std::size_t used = unsent();
  return used < most ? most - used : 0;
}

auto tcp_socket::ready() const -> std::uint32_t {
  std::uint32_t found = error_ != 0 ? POLLERR : 0;
  switch (state_) {
    case state::listening: return found | (accepted_.empty() ? 0 : POLLIN);
    case state::connecting: return found;
    case state::fresh: return found | POLLOUT | POLLHUP;
    case state::failed:
    case state::ended: return found | POLLIN | POLLOUT | POLLRDHUP | POLLHUP;
    case state::connected: break;
  }
  const bool has_end = has_ended_ || is_read_shut_;
  if (unread() > 0 || has_end) found |= POLLIN;
  if (has_end) found |= POLLRDHUP;
  if (is_write_shut_ || is_writable()) found |= POLLOUT;
  if (has_end && is_write_shut_) found |= POLLHUP;
  return found;
}

auto tcp_socket::system_state() const -> int {
  switch (state_) {
    case state::listening: return TCP_LISTEN;
    case state::connecting: return TCP_SYN_SENT;
    case state::connected:
      if (has_ended_) return is_write_shut_ ? TCP_LAST_ACK : TCP_CLOSE_WAIT;
      return is_write_shut_ ? TCP_FIN_WAIT2 : TCP_ESTABLISHED;
    default: return TCP_CLOSE;
  }
}

// --- connecting sockets ---

auto tcp_socket::listen(int backlog) -> int {
  if (state_ != state::fresh && state_ != state::listening) return EINVAL;
  if (state_ == state::fresh && is_bound_ && conflicts(local_, true)) return EADDRINUSE;
  bind_if_free();
  state_ = state::listening;
  backlog_ = static_cast<std::size_t>(backlog < 0 ? SOMAXCONN : std::min(backlog, SOMAXCONN));
  return 0;
}

/// Returns the result of a repeated call of connect, after the attempt to connect has ended.
auto tcp_socket::connect_outcome() -> int {
  if (std::exchange(is_outcome_known_, true)) return state_ == state::connected ? EISCONN : 0;
  if (state_ == state::connected) return 0;
  const int error = take_error();
  state_ = state::fresh;
  return error != 0 ? error : ECONNABORTED;
}

auto tcp_socket::wait_until_connected(int descriptor) -> int {
  if (is_nonblocking(descriptor)) return EINPROGRESS;
  const nanoseconds deadline = timeout(SO_SNDTIMEO);
  while (state_ == state::connecting)
    if (!wait_for(call::connect, descriptor, *this, POLLOUT, true, deadline))
      return errno == EAGAIN ? EINPROGRESS : errno;
  return connect_outcome();
}

auto tcp_socket::connect(int descriptor, const sockaddr* to, socklen_t length) -> int {
  const std::shared_ptr<object> keep = shared_from_this();
  if (state_ == state::listening) return EISCONN;
  if (state_ == state::connecting) return is_nonblocking(descriptor) ? EALREADY : wait_until_connected(descriptor);
  if (!is_outcome_known_ || state_ == state::connected) return connect_outcome();
  address wanted;
  if (const int error = read_address(to, length, family_, wanted); error != 0) return error;
  if (wanted.is_any()) wanted.ip = loopback(wanted.is_v4()).ip;
  remote_ = wanted;
  bind_if_free();
  if (!is_bound_) return EADDRNOTAVAIL;
  if (local_.is_any()) local_.ip = own_address(wanted).ip;
  forget_connection();
  state_ = state::connecting;
  is_client_ = true;
  is_outcome_known_ = false;
  is_read_shut_ = is_write_shut_ = has_ended_ = false;
  attempts_ = 0;
  if (in_world() && !remote_.is_local()) {
    connection_ = open_connection(*this);
    knock_at_machine();
  } else {
    add_event({.at = arrival_time(), .what = arrival::knock, .to = shared_from_this()});
  }
  return wait_until_connected(descriptor);
}

void tcp_socket::knock() {
  if (state_ != state::connecting) return;
  if (connection_ != 0) return knock_at_machine();
  auto* found = static_cast<tcp_socket*>(find_receiver(remote_, local_, true));
  if (!remote_.is_local() || (found != nullptr && found->is_full())) {
    const nanoseconds pause = second << attempts_;
    const bool is_last = ++attempts_ == max_attempts;
    add_event({.at = now() + pause, .what = is_last ? arrival::given_up : arrival::knock, .to = shared_from_this()});
    return;
  }
  if (found == nullptr || happens(fault::refusal)) {
    add_event({.at = now() + latency(), .what = arrival::refused, .to = shared_from_this()});
    return;
  }
  auto other = found->make_other_side(local_, remote_);
  other->peer_ = self_pointer();
  peer_ = other;
  add_event({.at = other->arrival_time(), .what = arrival::connected, .to = shared_from_this()});
}

auto tcp_socket::make_other_side(const address& source, const address& target) -> std::shared_ptr<tcp_socket> {
  auto other = make<tcp_socket>(family_);
  other->local_ = target;
  other->remote_ = source;
  other->options_ = options_;
  other->state_ = state::connected;
  other->listener_ = this;
  half_open_.push_back(other);
  return other;
}

/// Sends a connection request to another machine, and repeats it after pauses that double each time.
void tcp_socket::knock_at_machine() {
  send_knock(connection_, local_, remote_);
  const nanoseconds pause = second << attempts_;
  const bool is_last = ++attempts_ == max_attempts;
  add_event({.at = now() + pause, .what = is_last ? arrival::given_up : arrival::knock, .to = shared_from_this()});
}

auto tcp_socket::welcome(const address& source, const address& target, std::uint64_t connection) -> tcp_socket* {
  auto other = make_other_side(source, target);
  other->connection_ = connection;
  other->answer_request();
  return other.get();
}

/// Answers the connection request of another machine, and repeats the answer until the client acknowledges it.
void tcp_socket::answer_request() {
  send_packet(word::connected, connection_);
  add_event({.at = now() + (second << attempts_), .what = arrival::time, .to = shared_from_this()});
}

/// Repeats the answer of a half-open connection, or drops the connection after 63 s, like Linux.
void tcp_socket::expire() {
  if (listener_ == nullptr) return;
  if (++attempts_ < max_answers) return answer_request();
  const std::shared_ptr<object> keep = shared_from_this();
  drop_half_open();
}

/// Removes a half-open connection. The program never learns of it.
void tcp_socket::drop_half_open() {
  std::erase(std::exchange(listener_, nullptr)->half_open_, self_pointer());
  forget_connection();
  state_ = state::ended;
  close();
}

void tcp_socket::become_established() {
  if (listener_ == nullptr) return;
  tcp_socket& listener = *std::exchange(listener_, nullptr);
  const std::shared_ptr<tcp_socket> established = self_pointer();
  std::erase(listener.half_open_, established);
  listener.accepted_.push_back(established);
  listener.changed(POLLIN);
}

void tcp_socket::forget_connection() {
  if (connection_ != 0) close_connection(std::exchange(connection_, 0));
  unread_by_machine_ = read_since_window_ = 0;
}

void tcp_socket::become_connected() {
  if (state_ == state::connecting) {
    state_ = state::connected;
    transmit(arrival::acknowledged);
    changed(POLLOUT);
  } else if (state_ == state::connected && connection_ != 0) {
    transmit(arrival::acknowledged);  // the first acknowledgement was lost
  }
}

void tcp_socket::refuse(int error) {
  if (state_ != state::connecting) return;
  if (connection_ != 0 && error == ETIMEDOUT) send_reset();  // the server may have accepted it
  forget_connection();
  state_ = state::failed;
  error_ = error;
  changed(~0U);
}

void tcp_socket::give_up() { refuse(ETIMEDOUT); }

auto tcp_socket::wait_for_client(int descriptor) -> bool {
  if (state_ != state::listening) return fail(EINVAL) == 0;
  const nanoseconds deadline = timeout(SO_RCVTIMEO);
  while (accepted_.empty())
    if (!wait_for(call::accept, descriptor, *this, POLLIN, may_wait(descriptor, 0), deadline)) return false;
  return true;
}

auto tcp_socket::accept() -> std::shared_ptr<tcp_socket> {
  std::shared_ptr<tcp_socket> found = std::move(accepted_.front());
  accepted_.pop_front();
  return found;
}

// --- sending data ---

/// Chooses the arrival time of the next packet. Packets of one connection arrive in order.
auto tcp_socket::arrival_time() -> nanoseconds {
  nanoseconds at = std::max(now(), cut_until(server_port(), is_client_)) + latency();
  if (happens(fault::delay)) at += static_cast<nanoseconds>(network_chance(second));
  last_arrival_ = std::max(last_arrival_, at);
  return last_arrival_;
}

void tcp_socket::transmit(arrival kind, bytes data) {
  if (connection_ == 0) return add_event({.at = arrival_time(), .what = kind, .to = peer_, .data = std::move(data)});
  const word sent = kind == arrival::data           ? word::data
                    : kind == arrival::end          ? word::end
                    : kind == arrival::acknowledged ? word::acknowledged
                                                    : word::reset;
  send_packet(sent, connection_, data);
}

void tcp_socket::send_bytes(bytes data) {
  if (connection_ != 0) {  // the coordinator injects the faults
    unread_by_machine_ += data.size();
    return transmit(arrival::data, std::move(data));
  }
  if (happens(fault::reset)) {
    send_reset();
    add_event({.at = now() + latency(), .what = arrival::reset, .to = shared_from_this()});
    return;
  }
  peer_->pending_ += data.size();
  if (data.size() > 1 && happens(fault::split)) {
    const auto first = static_cast<std::ptrdiff_t>(1 + network_chance(data.size() - 1));
    transmit(arrival::data, {data.begin(), data.begin() + first});
    last_arrival_ += static_cast<nanoseconds>(network_chance(page->wanted.max_latency_ns + 1));
    data.erase(data.begin(), data.begin() + first);
  }
  transmit(arrival::data, std::move(data));
}

auto tcp_socket::send(int descriptor, const message& given) -> ssize_t {
  const std::shared_ptr<object> keep = shared_from_this();
  point(call::write);
  bytes data;
  given.gather(data);
  const std::size_t size = data.size();
  const nanoseconds deadline = timeout(SO_SNDTIMEO);
  std::size_t sent = 0;
  for (;;) {
    const bool is_open = state_ == state::connected && !is_write_shut_;
    if (state_ != state::connecting && !is_open) {
      if (sent > 0) return static_cast<ssize_t>(sent);
      if (error_ != 0) return fail(take_error());
      raise_pipe_signal(given.flags);
      return fail(EPIPE);
    }
    if (is_open) {
      const std::size_t count = std::min(size - sent, room());
      if (count > 0 && sent == 0 && count == size) {
        send_bytes(std::exchange(data, {}));
      } else if (count > 0) {
        const auto first = data.begin() + static_cast<std::ptrdiff_t>(sent);
        send_bytes(bytes(first, first + static_cast<std::ptrdiff_t>(count)));
      }
      sent += count;
      if (sent == size) return static_cast<ssize_t>(sent);
      was_full_ = true;
    }
    if (wait_for(call::write, descriptor, *this, POLLOUT, may_wait(descriptor, given.flags), deadline)) continue;
    return sent > 0 ? static_cast<ssize_t>(sent) : -1;
  }
}

auto tcp_socket::shutdown(int how) -> int {
  if (state_ == state::listening && how != SHUT_WR) {
    refuse_waiting();
    state_ = state::fresh;
    changed(~0U);
    return 0;
  }
  if (state_ != state::connected) return ENOTCONN;
  if (how != SHUT_WR) is_read_shut_ = true;
  if (how != SHUT_RD && !std::exchange(is_write_shut_, true)) send_end();
  changed(POLLIN | POLLRDHUP | POLLOUT | (is_write_shut_ ? POLLHUP : 0));
  return 0;
}

/// Resets the connections that the program has not accepted.
void tcp_socket::refuse_waiting() {
  for (const auto& each : half_open_) {
    each->listener_ = nullptr;
    accepted_.push_back(each);
  }
  half_open_.clear();
  for (const auto& each : accepted_) {
    if (each->state_ == state::connected) each->send_reset();
    each->state_ = state::ended;
    each->close();
  }
  accepted_.clear();
}

void tcp_socket::close() {
  refuse_waiting();
  linger at_close{};
  for (const option& each : options_)
    if (each.level == SOL_SOCKET && each.name == SO_LINGER && each.value.size() >= sizeof(at_close))
      std::memcpy(&at_close, each.value.data(), sizeof(at_close));
  const bool is_hard = unread() > 0 || (at_close.l_onoff != 0 && at_close.l_linger == 0);
  if (has_other_side() && (state_ == state::connected || state_ == state::connecting)) {
    if (is_hard || state_ == state::connecting) {
      send_reset();
    } else if (!is_write_shut_) {
      send_end();
    }
  }
  forget_connection();  // the machine answers later packets with a reset
  state_ = state::ended;
  is_closed_ = true;
  input_ = {};
  read_ = 0;
  if (peer_ != nullptr && peer_->is_closed_) {  // otherwise the two sockets would keep each other alive
    peer_->peer_ = nullptr;
    peer_ = nullptr;
  }
  internet_socket::close();
}

// --- receiving data ---

void tcp_socket::arrive(bytes data) {
  become_established();
  if (state_ != state::connected || is_read_shut_) {
    pending_ -= std::min(pending_, data.size());
    if (is_closed_ && peer_ != nullptr) send_reset();
    return;
  }
  if (read_ == input_.size()) {
    input_ = std::move(data);
    read_ = 0;
  } else {
    input_.insert(input_.end(), data.begin(), data.end());
  }
  changed(POLLIN);
}

void tcp_socket::end_input() {
  become_established();
  if (state_ != state::connected) return;
  has_ended_ = true;
  changed(POLLIN | POLLRDHUP | (is_write_shut_ ? POLLHUP : 0));
}

void tcp_socket::end_both_ways(int error) {
  state_ = state::ended;
  error_ = error;
  changed(~0U);
}

void tcp_socket::reset() {
  if (state_ == state::connecting) return refuse(ECONNREFUSED);
  if (listener_ != nullptr) return drop_half_open();
  forget_connection();
  if (state_ == state::connected) end_both_ways(has_ended_ ? EPIPE : ECONNRESET);
}

void tcp_socket::take_input(std::size_t count) {
  const bool could_write = peer_ != nullptr && peer_->is_writable();
  read_ += count;
  pending_ -= std::min(pending_, count);
  if (read_ == input_.size()) {
    input_.clear();
    read_ = 0;
  }
  if (connection_ != 0) read_since_window_ += count;
  if (connection_ != 0 && read_since_window_ >= window_step)
    send_packet(word::window, connection_, {}, std::exchange(read_since_window_, 0));
  if (peer_ == nullptr || !peer_->is_writable() || (could_write && !peer_->was_full_)) return;
  peer_->was_full_ = false;
  peer_->changed(POLLOUT);
}

void tcp_socket::time_out() {
  forget_connection();
  if (state_ == state::connected) end_both_ways(ETIMEDOUT);
}

void tcp_socket::open_window(std::uint64_t count) {
  unread_by_machine_ -= std::min<std::size_t>(unread_by_machine_, count);
  if (!is_writable()) return;
  was_full_ = false;
  changed(POLLOUT);
}

auto tcp_socket::receive(int descriptor, message& wanted) -> ssize_t {
  const std::shared_ptr<object> keep = shared_from_this();
  point(call::read);
  const nanoseconds deadline = timeout(SO_RCVTIMEO);
  const std::size_t size = wanted.size();
  const bool is_peek = (wanted.flags & MSG_PEEK) != 0;
  const bool wants_all = (wanted.flags & MSG_WAITALL) != 0;
  if (wanted.from_length != nullptr) *wanted.from_length = 0;
  for (;;) {
    const auto available = static_cast<std::size_t>(unread());
    const bool has_end = has_ended_ || is_read_shut_ || state_ == state::ended || state_ == state::failed;
    if (available >= size || (available > 0 && (!wants_all || has_end))) {
      const std::size_t count = wanted.scatter(std::span(input_).subspan(read_));
      if (!is_peek) take_input(count);
      return static_cast<ssize_t>(count);
    }
    if (has_ended_) return 0;  // before an error, as in Linux
    if (error_ != 0) return fail(take_error());
    if (has_end) return 0;
    if (state_ == state::fresh || state_ == state::listening) return fail(ENOTCONN);
    // With MSG_WAITALL, poll events do not show whether enough bytes have arrived, so the wait is repeated every
    // millisecond.
    const bool is_partial = wants_all && available > 0;
    const nanoseconds until = is_partial ? std::min(deadline, now() + second / 1000) : deadline;
    const short events = is_partial ? POLLRDHUP : POLLIN;
    if (wait_for(call::read, descriptor, *this, events, may_wait(descriptor, wanted.flags), until)) continue;
    if (is_partial && errno == EAGAIN && now() < deadline && may_wait(descriptor, wanted.flags)) continue;
    if (available == 0) return -1;
    const std::size_t count = wanted.scatter(std::span(input_).subspan(read_));
    take_input(count);
    return static_cast<ssize_t>(count);
  }
}

}  // namespace sim
