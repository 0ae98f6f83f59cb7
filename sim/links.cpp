// sim/links.cpp: sends packets between machines. The packets of a connection stay in order. If the link is cut, the
// packets are held back until the link is no longer cut. Datagrams and the first packets of connections are lost if the
// link is cut.
#include <sim/links.hpp>

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t first_retry = second / 5;
constexpr std::int64_t max_retry = 120 * second;
constexpr std::int64_t patience = 924 * second;  // the time after which Linux gives up a connection

/// Returns when unacknowledged data is sent again next, at `now` at the earliest. The data was first sent at `since`.
auto next_retry(std::int64_t since, std::int64_t now) -> std::int64_t {
  std::int64_t at = since;
  for (std::int64_t pause = first_retry; at < now; pause = std::min(2 * pause, max_retry)) at += pause;
  return at;
}

}  // namespace

auto chances::next() -> std::uint64_t {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

links::links(link_owner& owner, const settings& wanted)
    : owner_(owner), wanted_(wanted), chances_{wanted.seed ^ 0x2545f4914f6cdd1dU} {}

// --- cuts and faults ---

auto links::is_open(machine_number from, machine_number to) const -> bool {
  const auto found = links_.find({from, to});
  return found == links_.end() || (!found->second.is_cut && found->second.partitions == 0);
}

void links::cut(machine_number from, machine_number to) { links_[{from, to}].is_cut = true; }

void links::heal(machine_number from, machine_number to) {
  links_[{from, to}].is_cut = false;
  send_held();
}

auto links::happens(fault kind) -> bool {
  const auto at = static_cast<std::size_t>(kind);
  if (faults_[at] >= wanted_.budgets[at]) return false;
  const std::int64_t elapsed = owner_.now() - start_time;
  if (wanted_.calm_from_ns != 0 && elapsed >= static_cast<std::int64_t>(wanted_.calm_from_ns)) return false;
  if (chances_.below(wanted_.fault_rate) != 0) return false;
  ++faults_[at];
  owner_.note_fault(kind);
  return true;
}

auto links::latency() -> std::int64_t {
  const std::uint64_t span = wanted_.max_latency_ns - wanted_.min_latency_ns + 1;
  return static_cast<std::int64_t>(wanted_.min_latency_ns + chances_.below(span));
}

/// Returns the time at which a packet arrives. The packet waits until the link has sent all earlier packets. The time
/// to send its bytes, and the latency, are added to that.
auto links::travel(machine_number from, machine_number to, const packet& sent) -> std::int64_t {
  if (wanted_.bandwidth == 0 || from == to) return owner_.now() + latency();
  const double seconds = static_cast<double>(sent.data.size()) / static_cast<double>(wanted_.bandwidth);
  link& used = links_[{from, to}];
  used.busy_until = std::max(used.busy_until, owner_.now()) + static_cast<std::int64_t>(seconds * 1e9);
  return used.busy_until + latency();
}

void links::maybe_partition(machine_number from, machine_number to) {
  if (!happens(fault::partition)) return;
  const std::uint64_t kind = chances_.below(4);  // half of the partitions stop one direction only
  const std::int64_t until = owner_.now() + second / 10 + static_cast<std::int64_t>(chances_.below(10 * second));
  for (const auto& [source, target] : {std::pair(from, to), std::pair(to, from)}) {
    if (kind == (source == from ? 1U : 2U)) continue;
    ++links_[{source, target}].partitions;
    owner_.schedule(until, [this, source, target] { end_partition(source, target); });
  }
}

void links::end_partition(machine_number from, machine_number to) {
  --links_[{from, to}].partitions;
  send_held();
}

// --- packets ---

void links::route(machine_number from, packet sent) {
  ++packets_;
  switch (sent.head.what) {
    case word::knock: return route_knock(from, std::move(sent));
    case word::datagram:
    case word::unreachable: return route_datagram(from, std::move(sent));
    default: break;
  }
  const std::uint64_t number = sent.head.connection;
  const auto found = connections_.find(number);
  if (found != connections_.end())
    return route_stream(number, found->second.sides[0].machine == from ? 0 : 1, std::move(sent));
  if (sent.head.what == word::data || sent.head.what == word::acknowledged) tell(from, word::reset, number, latency());
}

void links::route_knock(machine_number from, packet sent) {
  const auto to = owner_.find_machine(sent.head.target);
  if (!to) return;
  maybe_partition(from, *to);
  const std::uint64_t number = sent.head.connection;
  const auto [place, is_new] = connections_.try_emplace(number);
  if (is_new) {
    place->second.sides[0].machine = from;
    place->second.sides[1].machine = *to;
  }
  if (!is_open(from, *to) || !owner_.has_power(*to)) return;
  if (happens(fault::refusal)) return tell(from, word::refused, number, latency());
  transmit(number, 0, std::move(sent));
}

void links::route_datagram(machine_number from, packet sent) {
  const auto to = owner_.find_machine(sent.head.target);
  if (!to) return;
  maybe_partition(from, *to);
  if (!is_open(from, *to) || happens(fault::loss)) return;
  const std::int64_t delay = happens(fault::delay) ? static_cast<std::int64_t>(chances_.below(second)) : 0;
  const std::int64_t arrival = travel(from, *to, sent) + delay;
  owner_.schedule(arrival, [this, from, to = *to, sent = std::move(sent)]() mutable {
    if (owner_.is_running(to)) return owner_.deliver(to, std::move(sent));
    if (!owner_.has_power(to) || sent.head.what != word::datagram) return;
    std::swap(sent.head.source, sent.head.target);
    sent.head.what = word::unreachable;
    sent.head.size = 0;
    sent.data.clear();
    owner_.schedule(owner_.now() + latency(), [this, from, sent = std::move(sent)]() mutable {
      if (owner_.is_running(from)) owner_.deliver(from, std::move(sent));
    });
  });
}

void links::route_stream(std::uint64_t number, std::size_t side, packet sent) {
  direction& sender = connections_.at(number).sides[side];
  const machine_number to = connections_.at(number).sides[1 - side].machine;
  maybe_partition(sender.machine, to);
  if (sent.head.what == word::data && happens(fault::reset)) return reset_both(number);
  if (sent.head.what == word::end) sender.has_ended = true;
  if (sent.head.what == word::data && sent.data.size() > 1 && happens(fault::split)) {
    const auto middle = sent.data.begin() + static_cast<std::ptrdiff_t>(1 + chances_.below(sent.data.size() - 1));
    packet first{.head = sent.head, .data = {sent.data.begin(), middle}, .number = sent.number};
    first.head.size = static_cast<std::uint32_t>(first.data.size());
    sent.data.erase(sent.data.begin(), middle);
    sent.head.size = static_cast<std::uint32_t>(sent.data.size());
    transmit(number, side, std::move(first));
    sender.last_arrival += static_cast<std::int64_t>(chances_.below(wanted_.max_latency_ns + 1));
  }
  transmit(number, side, std::move(sent));
}

/// Sends a packet of a connection after the earlier packets, or holds the packet back if the link is cut.
void links::transmit(std::uint64_t number, std::size_t side, packet sent) {
  connection& of = connections_.at(number);
  direction& sender = of.sides[side];
  const bool is_lost = !is_open(sender.machine, of.sides[1 - side].machine);
  const bool is_repeated =
      sent.head.what == word::data || sent.head.what == word::end || sent.head.what == word::window;
  if (is_lost || (!sender.held.empty() && is_repeated)) {
    if (is_repeated) hold(number, side, std::move(sent));
    return;
  }
  const std::int64_t delay = happens(fault::delay) ? static_cast<std::int64_t>(chances_.below(second)) : 0;
  const std::int64_t arrival = travel(sender.machine, of.sides[1 - side].machine, sent) + delay;
  sender.last_arrival = std::max(sender.last_arrival, arrival);
  owner_.schedule(sender.last_arrival,
                  [this, number, side, sent = std::move(sent)]() mutable { arrive(number, side, std::move(sent)); });
}

void links::arrive(std::uint64_t number, std::size_t side, packet arrived) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  const direction& receiver = found->second.sides[1 - side];
  const word what = arrived.head.what;
  if (receiver.is_alive && owner_.is_running(receiver.machine)) {
    owner_.deliver(receiver.machine, std::move(arrived));
    if (what == word::reset || what == word::refused) connections_.erase(number);
    return;
  }
  // The process has ended, so the machine's simulated operating system answers, unless the machine has no power.
  if (!owner_.has_power(receiver.machine)) {
    if (what == word::data || what == word::end) hold(number, side, std::move(arrived));
    return;
  }
  if (what != word::knock && what != word::data && what != word::acknowledged) return;
  tell(found->second.sides[side].machine, what == word::knock ? word::refused : word::reset, number, latency());
  connections_.erase(number);
}

/// Keeps a packet that was not acknowledged, to send it again later. If this lasts too long, the sender gives up the
/// connection.
void links::hold(std::uint64_t number, std::size_t side, packet held) {
  direction& sender = connections_.at(number).sides[side];
  sender.held.push_back(std::move(held));
  if (sender.blocked_since != 0) return;
  sender.blocked_since = owner_.now();
  owner_.schedule(sender.blocked_since + patience,
                  [this, number, side, since = sender.blocked_since] { give_up(number, side, since); });
}

void links::give_up(std::uint64_t number, std::size_t side, std::int64_t since) {
  const auto found = connections_.find(number);
  if (found == connections_.end() || found->second.sides[side].blocked_since != since) return;
  const direction& sender = found->second.sides[side];
  if (sender.is_alive) tell(sender.machine, word::timed_out, number, 0);
  connections_.erase(found);
}

/// Sends the packets that were held back by links that are no longer cut.
void links::send_held() {
  for (auto& [number, of] : connections_) {
    for (std::size_t side = 0; side < 2; ++side) {
      direction& sender = of.sides[side];
      const direction& receiver = of.sides[1 - side];
      const bool is_answered = receiver.is_alive || owner_.has_power(receiver.machine);
      if (sender.held.empty() || !is_answered || !is_open(sender.machine, receiver.machine)) continue;
      sender.blocked_since = 0;
      for (packet& each : std::exchange(sender.held, {})) transmit(number, side, std::move(each));
    }
  }
}

/// Sends a message of a machine's simulated operating system. A cut of the link does not hold back such a message.
void links::tell(machine_number machine, word kind, std::uint64_t number, std::int64_t delay) {
  owner_.schedule(owner_.now() + delay, [this, machine, kind, number] {
    if (owner_.is_running(machine)) owner_.deliver(machine, {.head = {.what = kind, .connection = number}, .data = {}});
  });
}

void links::reset_both(std::uint64_t number) {
  for (const direction& side : connections_.at(number).sides)
    if (side.is_alive) tell(side.machine, word::reset, number, latency());
  connections_.erase(number);
}

// --- ends of machines ---

template <typename Action>
void links::for_each_side_of(machine_number machine, Action action) {
  for (auto& [number, of] : connections_)
    for (std::size_t side = 0; side < 2; ++side)
      if (of.sides[side].machine == machine) action(number, of, side);
}

void links::end_process(machine_number machine) {
  for_each_side_of(machine, [this](std::uint64_t number, connection& of, std::size_t side) {
    if (!std::exchange(of.sides[side].is_alive, false) || std::exchange(of.sides[side].has_ended, true)) return;
    transmit(number, side, {.head = {.what = word::end, .connection = number}, .data = {}});
  });
}

void links::reset_process(machine_number machine) {
  for_each_side_of(machine, [this](std::uint64_t number, connection& of, std::size_t side) {
    if (!std::exchange(of.sides[side].is_alive, false)) return;
    of.sides[side].held.clear();
    transmit(number, side, {.head = {.what = word::reset, .connection = number}, .data = {}});
  });
}

void links::lose_machine(machine_number machine) {
  for_each_side_of(machine, [](std::uint64_t /*number*/, connection& of, std::size_t side) {
    of.sides[side].is_alive = false;
    of.sides[side].held.clear();
    of.sides[side].blocked_since = 0;
  });
}

void links::return_machine(machine_number machine) {
  for_each_side_of(machine, [this](std::uint64_t number, connection& of, std::size_t side) {
    direction& other = of.sides[1 - side];
    if (of.sides[side].is_alive || other.blocked_since == 0) return;
    const std::int64_t at = next_retry(other.blocked_since, owner_.now());
    owner_.schedule(at, [this, number, other_side = 1 - side] {
      const auto found = connections_.find(number);
      if (found == connections_.end()) return;
      for (packet& each : std::exchange(found->second.sides[other_side].held, {}))
        transmit(number, other_side, std::move(each));
    });
  });
}

}  // namespace sim
