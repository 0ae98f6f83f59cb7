// sim/machine.hpp: the side of a world that a simulated process sees: the token of the world, and packets to and from
// other machines.
#pragma once

#include <sim/network.hpp>
#include <sim/wire.hpp>

#include <cstddef>

namespace sim {

/// Returns true if the process is a machine of a world, which has a coordinator.
inline auto in_world() -> bool { return page->wanted.is_machine != 0; }

/// Returns true if the coordinator shall get the token back: the machine's turns are used up, something else happens
/// now, or a packet was sent.
auto is_turn_over() -> bool;
/// Counts a choice of the next thread.
void count_turn();

/// Returns the token to the coordinator, and waits until it grants it again. Returns the machine's time then.
auto return_token(std::size_t runnable, nanoseconds deadline) -> nanoseconds;
/// Delivers the packets that have arrived, after the time was set.
void read_mail();

/// A packet of UDP, or a notice about one. Returns false if the process is not a machine of a world.
auto send_datagram(word what, const address& source, const address& target, bytes data) -> bool;

/// A connection to another machine.
auto open_connection(tcp_socket& client) -> std::uint64_t;
void close_connection(std::uint64_t connection);
void send_packet(word what, std::uint64_t connection, const bytes& data = {}, std::uint64_t count = 0);
void send_knock(std::uint64_t connection, const address& source, const address& target);

}  // namespace sim
