// sim/network.cpp: implements addresses, packets in transit, and the network faults that the seed chooses.
#include <sim/machine.hpp>
#include <sim/network.hpp>

#include <algorithm>
#include <cstring>

#include <netinet/tcp.h>

namespace sim {
namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::uint16_t first_free_port = 40'000;
constexpr std::uint16_t last_free_port = 60'999;

/// A network partition: packets to or from this port are dropped for some time.
struct cut {
  std::uint16_t port;
  bool stops_requests;
  bool stops_answers;
  nanoseconds until;
};

/// The state of the network. It is never destroyed, because threads may run until the process exits.
struct network {
  list<event> travelling;  // a heap
  list<cut> cuts;
  list<internet_socket*> bound;
  std::uint64_t next_number = 0;
  std::uint64_t chances = page->wanted.seed * 0x2545f4914f6cdd1dU + 0x9e3779b97f4a7c15U;
  std::uint16_t next_port = first_free_port;
};
network* made = nullptr;

auto net() -> network& {
  if (made == nullptr) made = new (take_memory(sizeof(network))) network;
  return *made;
}

auto is_later(const event& left, const event& right) -> bool {
  return left.at != right.at ? left.at > right.at : left.number > right.number;
}

void deliver_datagram(event& packet) {
  auto* found = static_cast<udp_socket*>(find_receiver(packet.target, packet.source, false));
  if (found != nullptr) return found->arrive(packet.source, std::move(packet.data));
  add_event({.at = now() + latency(), .what = arrival::unreachable, .to = std::move(packet.to)});
}

void deliver(event& packet) {
  auto* tcp = static_cast<tcp_socket*>(packet.to.get());
  switch (packet.what) {
    case arrival::knock: return tcp->knock();
    case arrival::connected: return tcp->become_connected();
    case arrival::acknowledged: return tcp->become_established();
    case arrival::refused: return tcp->refuse(ECONNREFUSED);
    case arrival::given_up: return tcp->give_up();
    case arrival::data: return tcp->arrive(std::move(packet.data));
    case arrival::end: return tcp->end_input();
    case arrival::reset: return tcp->reset();
    case arrival::datagram: return deliver_datagram(packet);
    case arrival::unreachable: return static_cast<udp_socket*>(packet.to.get())->refuse(ECONNREFUSED);
    case arrival::time: return packet.to->expire();
  }
}

/// Returns true if the table of host names contains this address. Such an address belongs to the simulated process.
auto is_named(const address& asked) -> bool;

}  // namespace

// --- addresses ---

auto address::is_v4() const -> bool { return std::memcmp(ip.data(), v4_prefix.data(), v4_prefix.size()) == 0; }

auto address::is_any() const -> bool {
  const auto host = std::span(ip).subspan(is_v4() ? v4_prefix.size() : 0);
  return std::ranges::all_of(host, [](std::uint8_t each) { return each == 0; });
}

auto address::is_local() const -> bool {
  if (is_any() || (in_world() ? ip == page->wanted.ip : is_named(*this))) return true;
  return is_v4() ? ip[12] == 127 : ip == loopback(false).ip;
}

auto any_address(int family) -> address {
  address any;
  if (family == AF_INET) std::ranges::copy(v4_prefix, any.ip.begin());
  return any;
}

auto loopback(bool is_v4) -> address {
  address found = any_address(is_v4 ? AF_INET : AF_INET6);
  found.ip[15] = 1;
  if (is_v4) found.ip[12] = 127;
  return found;
}

auto own_address(const address& target) -> address {
  if (target.is_local() && (!in_world() || target.ip != page->wanted.ip)) return loopback(target.is_v4());
  address found;
  found.ip = page->wanted.ip;
  return in_world() && found.is_v4() == target.is_v4() ? found : loopback(target.is_v4());
}

auto read_address(const sockaddr* from, socklen_t length, int family, address& read) -> int {
  if (from == nullptr || length < sizeof(sa_family_t)) return EINVAL;
  if (from->sa_family == AF_INET && family == AF_INET) {
    if (length < sizeof(sockaddr_in)) return EINVAL;
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(from);
    read = any_address(AF_INET);
    std::memcpy(read.ip.data() + v4_prefix.size(), &v4->sin_addr, sizeof(v4->sin_addr));
    read.port = ntohs(v4->sin_port);
    return 0;
  }
  if (from->sa_family != AF_INET6 || family != AF_INET6) return EAFNOSUPPORT;
  if (length < sizeof(sockaddr_in6) - sizeof(std::uint32_t)) return EINVAL;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(from);
  std::memcpy(read.ip.data(), &v6->sin6_addr, sizeof(v6->sin6_addr));
  read.port = ntohs(v6->sin6_port);
  return 0;
}

void write_address(const address& from, int family, sockaddr* to, socklen_t* length) {
  if (to == nullptr || length == nullptr) return;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(from.port);
  std::memcpy(&v4.sin_addr, from.ip.data() + v4_prefix.size(), sizeof(v4.sin_addr));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(from.port);
  std::memcpy(&v6.sin6_addr, from.ip.data(), sizeof(v6.sin6_addr));
  const void* chosen = family == AF_INET ? static_cast<const void*>(&v4) : &v6;
  const socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
  std::memcpy(to, chosen, std::min(size, *length));
  *length = size;
}

namespace {

auto is_named(const address& asked) -> bool {
  return std::ranges::any_of(host_names(), [&](const host_name& each) { return each.where.ip == asked.ip; });
}

}  // namespace

// --- packets in transit ---

void add_event(event added) {
  added.number = net().next_number++;
  net().travelling.push_back(std::move(added));
  std::ranges::push_heap(net().travelling, &is_later);
}

auto next_event() -> nanoseconds {
  return made == nullptr || made->travelling.empty() ? never : made->travelling.front().at;
}

void run_events() {
  while (next_event() <= now()) {
    std::ranges::pop_heap(made->travelling, &is_later);
    event next = std::move(made->travelling.back());
    made->travelling.pop_back();
    deliver(next);
  }
}

// --- faults ---

auto network_chance(std::uint64_t bound) -> std::uint64_t {
  std::uint64_t mixed = net().chances += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return (mixed ^ (mixed >> 31U)) % bound;
}

auto latency() -> nanoseconds {
  const settings& wanted = page->wanted;
  return static_cast<nanoseconds>(wanted.min_latency_ns +
                                  network_chance(wanted.max_latency_ns - wanted.min_latency_ns + 1));
}

auto happens(fault kind) -> bool {
  const settings& wanted = page->wanted;
  const auto at = static_cast<std::size_t>(kind);
  if (page->faults[at] >= wanted.budgets[at]) return false;
  if (wanted.calm_from_ns != 0 && now() - start_time >= static_cast<nanoseconds>(wanted.calm_from_ns)) return false;
  if (network_chance(wanted.fault_rate) != 0) return false;
  ++page->faults[at];
  return true;
}

auto cut_until(std::uint16_t port, bool to_server) -> nanoseconds {
  auto& cuts = net().cuts;
  std::erase_if(cuts, [](const cut& each) { return each.until <= now(); });
  if (happens(fault::partition)) {
    const std::uint64_t side = network_chance(4);  // half of the cuts stop one direction only
    cuts.push_back({.port = port,
                    .stops_requests = side != 1,
                    .stops_answers = side != 2,
                    .until = now() + second / 10 + static_cast<nanoseconds>(network_chance(10 * second))});
  }
  nanoseconds until = 0;
  for (const cut& each : cuts)
    if (each.port == port && (to_server ? each.stops_requests : each.stops_answers))
      until = std::max(until, each.until);
  return until;
}

// --- sockets that are bound to an address ---

auto bound_sockets() -> list<internet_socket*>& { return net().bound; }

auto find_receiver(const address& to, const address& from, bool is_tcp) -> internet_socket* {
  list<internet_socket*> found;
  for (internet_socket* each : net().bound) {
    const bool is_open = is_tcp ? each->is_listening() : !each->has_peer() || each->remote() == from;
    if (each->is_tcp() == is_tcp && is_open && each->receives(to)) found.push_back(each);
  }
  // Sockets that are bound to exactly this address are preferred to sockets that are bound to all addresses.
  const auto exact = std::ranges::partition(found, [&](auto* each) { return each->local() == to; });
  const std::size_t exact_count = found.size() - exact.size();
  if (found.empty()) return nullptr;
  const std::size_t count = exact_count > 0 ? exact_count : found.size();
  return found[count == 1 ? 0 : network_chance(count)];
}

auto internet_socket::receives(const address& to) const -> bool {
  if (local_.port != to.port) return false;
  if (local_.ip == to.ip) return true;
  if (!local_.is_any()) return false;
  if (local_.is_v4() || has_set(IPPROTO_IPV6, IPV6_V6ONLY)) return local_.is_v4() == to.is_v4();
  return true;
}

auto internet_socket::overlaps(const address& other) const -> bool {
  if (!is_bound_ || local_.port != other.port) return false;
  return local_.ip == other.ip || receives(other) || (other.is_any() && (!other.is_v4() || local_.is_v4()));
}

auto internet_socket::has_set(int level, int name) const -> bool {
  const auto found =
      std::ranges::find_if(options_, [&](const option& each) { return each.level == level && each.name == name; });
  return found != options_.end() && !found->value.empty() && found->value[0] != 0;
}

void internet_socket::set_option(option wanted) {
  std::erase_if(options_, [&](const option& each) { return each.level == wanted.level && each.name == wanted.name; });
  options_.push_back(std::move(wanted));
}

auto internet_socket::timeout(int name) const -> nanoseconds {
  for (const option& each : options_) {
    timeval length{};
    if (each.level != SOL_SOCKET || each.name != name || each.value.size() < sizeof(length)) continue;
    std::memcpy(&length, each.value.data(), sizeof(length));
    const nanoseconds span = length.tv_sec * second + length.tv_usec * 1000;
    if (span > 0) return now() + span;
  }
  return never;
}

auto internet_socket::buffer(int name, std::size_t usual) const -> std::size_t {
  for (const option& each : options_) {
    int size = 0;
    if (each.level != SOL_SOCKET || each.name != name || each.value.size() < sizeof(size)) continue;
    std::memcpy(&size, each.value.data(), sizeof(size));
    return 2 * std::max<std::size_t>(static_cast<std::size_t>(size), 2304);  // the kernel computes it in the same way
  }
  return usual;
}

auto internet_socket::conflicts(const address& wanted, bool listens) const -> bool {
  const bool is_alone = has_set(IPPROTO_IPV6, IPV6_V6ONLY);
  return std::ranges::any_of(net().bound, [&](const internet_socket* each) {
    if (each == this || each->is_tcp() != is_tcp() || !each->overlaps(wanted)) return false;
    if (is_alone && each->local().is_v4()) return false;
    const auto both = [&](int name) { return has_set(SOL_SOCKET, name) && each->has_set(SOL_SOCKET, name); };
    if (both(SO_REUSEPORT)) return false;
    return !both(SO_REUSEADDR) || each->is_listening() || listens;
  });
}

auto internet_socket::bind(const address& wanted) -> int {
  if (is_bound_) return EINVAL;
  if (!wanted.is_local()) return EADDRNOTAVAIL;
  address chosen = wanted;
  if (chosen.port == 0) {
    int left = last_free_port - first_free_port;
    do {
      chosen.port = net().next_port;
      net().next_port = chosen.port == last_free_port ? first_free_port : static_cast<std::uint16_t>(chosen.port + 1);
      const auto is_used = [&](const internet_socket* each) {
        return each->is_tcp() == is_tcp() && each->local().port == chosen.port;
      };
      if (std::ranges::none_of(net().bound, is_used)) break;
    } while (--left > 0);
    if (left == 0) return EADDRINUSE;
  } else if (conflicts(chosen, false)) {
    return EADDRINUSE;
  }
  local_ = chosen;
  is_bound_ = true;
  net().bound.push_back(this);
  return 0;
}

void internet_socket::bind_if_free() {
  if (!is_bound_) bind(local_);
}

void internet_socket::close() { std::erase(net().bound, this); }

}  // namespace sim
