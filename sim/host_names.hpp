// sim/host_names.hpp: declares checks of the names and addresses of machines.
#pragma once

#include <sim/wire.hpp>

#include <string>

namespace sim {

/// Parses the address of a machine. Returns false for loopback addresses, and for addresses that mean all or several
/// machines.
auto parse_host_address(const std::string& text, wire_address& read) -> bool;

/// Returns why a machine cannot have this name, or an empty text. `taken` contains a line NAME=ADDRESS for each name of
/// the world.
auto check_host_name(const std::string& name, const std::string& taken) -> std::string;

}  // namespace sim
