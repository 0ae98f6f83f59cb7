// sim/machine.hpp: declares the functions of a simulated process that is a machine of a world. These functions pass the
// world's token on, and exchange packets with other machines.
#pragma once

#include <sim/network.hpp>
#include <sim/wire.hpp>

#include <cstddef>
#include <span>

namespace sim {

/// Returns true if the process is a machine of a world, which has a coordinator.
inline auto in_world() -> bool { return page->wanted.is_machine != 0; }

/// Returns true if the token must be returned to the coordinator, because the machine has used up the turns of its
/// grant, an event outside of the machine is due, or a packet was sent.
auto is_turn_over() -> bool;
/// Counts one turn. In each turn, the scheduler chooses the next thread to run.
void count_turn();

/// Returns the token to the coordinator, and waits for the next grant. Returns the machine's time at this grant.
auto return_token(std::size_t runnable, nanoseconds deadline) -> nanoseconds;
/// Delivers the packets that have arrived. Requires that the caller has set the machine's time.
void read_mail();

/// Sends a UDP packet, or a notice about a UDP packet. Returns false if the process is not a machine of a world.
auto send_datagram(word kind, const address& source, const address& target, bytes data) -> bool;

/// Reports a change of the disk, with descriptors of the changed files. Does not end the machine's turn.
void send_change(word kind, std::span<const char> data, std::span<const int> files);

/// Opens a connection to another machine, and returns its number.
auto open_connection(tcp_socket& client) -> std::uint64_t;
void close_connection(std::uint64_t connection);
void send_packet(word kind, std::uint64_t connection, const bytes& data = {}, std::uint64_t count = 0);
void send_knock(std::uint64_t connection, const address& source, const address& target);

}  // namespace sim
