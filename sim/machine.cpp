// sim/machine.cpp: implements a machine of a world. The machine is connected to the coordinator by one socket. It sends
// packets while it has the token, and reads packets when it is granted the token.
#include <sim/disk.hpp>
#include <sim/machine.hpp>

#include <algorithm>
#include <cstring>
#include <map>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

namespace sim {
namespace {

using connections =
    std::map<std::uint64_t, tcp_socket*, std::less<>, arena<std::pair<const std::uint64_t, tcp_socket*>>>;

/// The state of a machine: its current token grant, and its connections to other machines.
struct machine_state {
  nanoseconds limit = 0;
  std::uint64_t turns = 0;
  std::uint64_t mail = 0;
  bool has_sent = false;
  connections open;
};

/// This object is never destroyed, because threads may run until the process ends.
auto mine() -> machine_state& {
  static auto* made = new (take_memory(sizeof(machine_state))) machine_state;
  return *made;
}

void send_all(const void* memory, std::size_t size) {
  const auto* place = static_cast<const char*>(memory);
  while (size > 0) {
    const long sent = kernel(SYS_sendto, world_descriptor, reinterpret_cast<long>(place), static_cast<long>(size),
                             MSG_NOSIGNAL, 0, 0);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) kernel(SYS_exit_group, ended_status);  // the coordinator has ended
    place += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void read_all(void* memory, std::size_t size) {
  auto* place = static_cast<char*>(memory);
  while (size > 0) {
    const long got =
        kernel(SYS_recvfrom, world_descriptor, reinterpret_cast<long>(place), static_cast<long>(size), 0, 0, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) kernel(SYS_exit_group, ended_status);
    place += got;
    size -= static_cast<std::size_t>(got);
  }
}

void send(wire_message sent, std::span<const char> data = {}) {
  sent.size = static_cast<std::uint32_t>(data.size());
  sent.time = to_world(now(), page->wanted.clock_drift_ppm);
  send_all(&sent, sizeof(sent));
  send_all(data.data(), data.size());
  mine().has_sent = true;
}

auto to_wire(const address& from) -> wire_address { return {from.ip, from.port}; }

auto from_wire(const wire_address& from) -> address { return {from.ip, from.port}; }

auto find_connection(std::uint64_t number) -> tcp_socket* {
  const auto found = mine().open.find(number);
  return found == mine().open.end() ? nullptr : found->second;
}

/// Handles the first packet of a connection. The client repeats this packet until it has received an answer.
void answer_knock(const wire_message& packet) {
  if (find_connection(packet.connection) != nullptr) return send_packet(word::connected, packet.connection);
  const address source = from_wire(packet.source);
  const address target = from_wire(packet.target);
  auto* found = static_cast<tcp_socket*>(find_receiver(target, source, true));
  if (found == nullptr) return send_packet(word::refused, packet.connection);
  if (found->is_full()) return;
  mine().open[packet.connection] = found->welcome(source, target, packet.connection);
}

void deliver_to_connection(const wire_message& packet, bytes data) {
  tcp_socket* found = find_connection(packet.connection);
  if (found == nullptr) {
    const bool needs_answer =
        packet.what == word::data || packet.what == word::connected || packet.what == word::acknowledged;
    if (needs_answer) send_packet(word::reset, packet.connection);
    return;
  }
  const std::shared_ptr<object> keep = found->shared_from_this();
  switch (packet.what) {
    case word::connected: return found->become_connected();
    case word::acknowledged: return found->become_established();
    case word::refused: return found->refuse(ECONNREFUSED);
    case word::data: return found->arrive(std::move(data));
    case word::end: return found->end_input();
    case word::reset: return found->reset();
    case word::timed_out: return found->time_out();
    case word::window: return found->open_window(packet.count);
    default: return;
  }
}

void deliver_mail(const wire_message& packet, bytes data) {
  const address source = from_wire(packet.source);
  const address target = from_wire(packet.target);
  switch (packet.what) {
    case word::knock: return answer_knock(packet);
    case word::datagram:
      if (auto* found = static_cast<udp_socket*>(find_receiver(target, source, false)); found != nullptr)
        return found->arrive(source, std::move(data));
      send_datagram(word::unreachable, target, source, {});
      return;
    case word::unreachable:
      if (auto* found = static_cast<udp_socket*>(find_receiver(target, source, false)); found != nullptr)
        found->refuse(ECONNREFUSED);
      return;
    case word::disk_rule: return set_disk_rule(data);
    default: return deliver_to_connection(packet, std::move(data));
  }
}

/// Sends the head of a message together with descriptors.
void send_head(const wire_message& head, std::span<const int> files) {
  if (files.empty()) return send_all(&head, sizeof(head));
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  iovec part{const_cast<wire_message*>(&head), sizeof(head)};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  whole.msg_control = control.data();
  whole.msg_controllen = CMSG_SPACE(files.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&whole);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(files.size_bytes());
  std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  long sent = -1;
  do sent = kernel(SYS_sendmsg, world_descriptor, reinterpret_cast<long>(&whole), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent <= 0) kernel(SYS_exit_group, ended_status);  // the coordinator has ended
  send_all(reinterpret_cast<const char*>(&head) + sent, sizeof(head) - static_cast<std::size_t>(sent));
}

}  // namespace

auto is_turn_over() -> bool { return in_world() && (mine().turns == 0 || mine().has_sent || now() >= mine().limit); }

void count_turn() {
  if (in_world() && mine().turns > 0) --mine().turns;
}

auto return_token(std::size_t runnable, nanoseconds deadline) -> nanoseconds {
  const std::int32_t drift = page->wanted.clock_drift_ppm;
  send({.what = word::pause, .limit = to_world(deadline, drift), .count = runnable});
  wire_message granted;
  read_all(&granted, sizeof(granted));
  mine().limit = to_local(granted.limit, drift);
  mine().turns = granted.turns;
  mine().mail = granted.count;
  mine().has_sent = false;
  return to_local(granted.time, drift);
}

void read_mail() {
  for (; mine().mail > 0; --mine().mail) {
    wire_message packet;
    read_all(&packet, sizeof(packet));
    bytes data(packet.size);
    read_all(data.data(), data.size());
    deliver_mail(packet, std::move(data));
  }
}

auto send_datagram(word kind, const address& source, const address& target, bytes data) -> bool {
  if (!in_world()) return false;
  send({.what = kind, .source = to_wire(source), .target = to_wire(target)}, data);
  return true;
}

void send_change(word kind, std::span<const char> data, std::span<const int> files) {
  const int error = errno;
  send_head({.what = kind,
             .size = static_cast<std::uint32_t>(data.size()),
             .time = to_world(now(), page->wanted.clock_drift_ppm)},
            files);
  send_all(data.data(), data.size());
  errno = error;
}

auto open_connection(tcp_socket& client) -> std::uint64_t {
  const std::uint64_t made = page->next_connection++;
  mine().open[made] = &client;
  return made;
}

void close_connection(std::uint64_t connection) { mine().open.erase(connection); }

void send_packet(word kind, std::uint64_t connection, const bytes& data, std::uint64_t count) {
  send({.what = kind, .connection = connection, .count = count}, data);
}

void send_knock(std::uint64_t connection, const address& source, const address& target) {
  send({.what = word::knock, .connection = connection, .source = to_wire(source), .target = to_wire(target)});
}

// --- the name of the machine ---

SIM_CALL(int, gethostname, char* shown, size_t size) {
  if (!on() || !in_world()) return REAL(gethostname)(shown, size);
  const std::size_t length = std::strlen(page->wanted.machine_name.data());
  if (size <= length) return fail(ENAMETOOLONG);
  std::memcpy(shown, page->wanted.machine_name.data(), length + 1);
  return 0;
}

SIM_CALL(int, uname, utsname* shown) {
  const int status = REAL(uname)(shown);
  if (status == 0 && on() && in_world())
    std::memcpy(shown->nodename, page->wanted.machine_name.data(), page->wanted.machine_name.size());
  return status;
}

}  // namespace sim
