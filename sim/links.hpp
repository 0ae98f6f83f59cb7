// sim/links.hpp: declares the network between the machines of a world: latency, cuts, faults, and the connections of
// machines that have ended.
#pragma once

#include <sim/shared.hpp>
#include <sim/wire.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sim {

/// A generator of random numbers: splitmix64.
struct chances {
  std::uint64_t state = 0;
  auto next() -> std::uint64_t;
  auto below(std::uint64_t bound) -> std::uint64_t { return next() % bound; }
};

/// The number of a machine, in the order in which machines were added.
using machine_number = std::size_t;

/// A message with the bytes that follow it.
struct packet {
  wire_message head;
  std::vector<char> data;
  std::uint64_t number = 0;  ///< of a packet from one machine to another, for a trace
};

/// The functions of a world that the network calls.
class link_owner {
 public:
  [[nodiscard]] virtual auto now() const -> std::int64_t = 0;
  virtual void schedule(std::int64_t time_ns, std::function<void()> action) = 0;
  [[nodiscard]] virtual auto find_machine(const wire_address& address) const -> std::optional<machine_number> = 0;
  /// Returns true if a process of the machine runs.
  [[nodiscard]] virtual auto is_running(machine_number machine) const -> bool = 0;
  /// Returns true if the machine has power. The machine's simulated operating system then answers in place of a process
  /// that has ended.
  [[nodiscard]] virtual auto has_power(machine_number machine) const -> bool = 0;
  virtual void deliver(machine_number to, packet delivered) = 0;
  /// Called when the seed injects a network fault.
  virtual void note_fault(fault kind) = 0;

 protected:
  ~link_owner() = default;
};

class links {
 public:
  links(link_owner& owner, const settings& wanted);

  /// Sends a packet of a machine to its target.
  void route(machine_number from, packet sent);

  /// Stops all packets in one direction between two machines, or lets them pass again.
  void cut(machine_number from, machine_number to);
  void heal(machine_number from, machine_number to);

  /// Ends the sending side of the connections of a process that has ended by itself.
  void end_process(machine_number machine);
  /// Resets the connections of a process that was killed.
  void reset_process(machine_number machine);
  /// Drops the connections of a machine that has lost its power, without notifying the other sides of these
  /// connections.
  void lose_machine(machine_number machine);
  /// Called when a machine has power again. From then on, the machine answers packets of its old connections with
  /// resets.
  void return_machine(machine_number machine);

  [[nodiscard]] auto faults() const -> const std::array<std::uint32_t, fault_count>& { return faults_; }
  [[nodiscard]] auto packets() const -> std::uint64_t { return packets_; }

 private:
  /// One direction of a connection, in which `machine` sends.
  struct direction {
    machine_number machine = 0;
    bool is_alive = true;  ///< the process still has the sending socket
    bool has_ended = false;
    std::int64_t last_arrival = 0;
    std::int64_t blocked_since = 0;  ///< since then, nothing is acknowledged; 0: all is
    std::vector<packet> held;        ///< the packets that are sent again
  };
  struct connection {
    std::array<direction, 2> sides;
  };
  struct link {
    bool is_cut = false;
    std::int64_t busy_until = 0;   ///< until then, earlier packets occupy the link
    std::uint32_t partitions = 0;  ///< that the seed has chosen, and that have not ended
  };

  [[nodiscard]] auto is_open(machine_number from, machine_number to) const -> bool;
  auto happens(fault kind) -> bool;
  auto latency() -> std::int64_t;
  auto travel(machine_number from, machine_number to, const packet& sent) -> std::int64_t;
  void maybe_partition(machine_number from, machine_number to);
  void end_partition(machine_number from, machine_number to);

  void route_knock(machine_number from, packet sent);
  void route_datagram(machine_number from, packet sent);
  void route_stream(std::uint64_t number, std::size_t side, packet sent);
  void transmit(std::uint64_t number, std::size_t side, packet sent);
  void arrive(std::uint64_t number, std::size_t side, packet arrived);
  void hold(std::uint64_t number, std::size_t side, packet held);
  void give_up(std::uint64_t number, std::size_t side, std::int64_t since);
  void send_held();
  void tell(machine_number machine, word kind, std::uint64_t number, std::int64_t delay);
  void reset_both(std::uint64_t number);
  template <typename Action>
  void for_each_side_of(machine_number machine, Action action);

  link_owner& owner_;
  settings wanted_;
  chances chances_;
  std::array<std::uint32_t, fault_count> faults_{};
  std::uint64_t packets_ = 0;
  std::map<std::uint64_t, connection> connections_;
  std::map<std::pair<machine_number, machine_number>, link> links_;
};

}  // namespace sim
