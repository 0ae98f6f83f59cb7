// tests/support/topology_promises.hpp: checks what every topology promises, whatever it was read from.
#pragma once

#include <braid/thread/topology.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace braid::testing {

/// How many of the groups hold the CPU.
template <typename Group>
auto groups_with(const std::vector<Group>& groups, unsigned cpu) -> std::size_t {
  return static_cast<std::size_t>(std::ranges::count_if(groups, [&](const Group& group) {
    if constexpr (requires { group.cpus; })
      return group.cpus.contains(cpu);
    else
      return group.contains(cpu);
  }));
}

inline void check_location(const topology& machine, unsigned cpu) {
  CAPTURE(cpu);
  CHECK(groups_with(machine.packages, cpu) == 1);
  CHECK(groups_with(machine.nodes, cpu) == 1);
  CHECK(groups_with(machine.cores, cpu) == 1);
  const topology::location* place = machine.location_of(cpu);
  REQUIRE(place != nullptr);
  CHECK(place->cpu == cpu);
  CHECK(machine.packages.at(place->package).cpus.contains(cpu));
  CHECK(machine.nodes.at(place->node).cpus.contains(cpu));
  CHECK(machine.cores.at(place->core).cpus.contains(cpu));
  CHECK(groups_with(machine.l2, cpu) == (place->l2 ? 1 : 0));
  CHECK(groups_with(machine.l3, cpu) == (place->l3 ? 1 : 0));
  if (place->l2) CHECK(machine.l2.at(*place->l2).contains(cpu));
  if (place->l3) CHECK(machine.l3.at(*place->l3).contains(cpu));
}

/// Every CPU lies in exactly one package, node and core, a core lies in one of each, and nothing else is in the lists.
inline void check_promises(const topology& machine) {
  CHECK_FALSE(machine.reason.empty());
  CHECK_FALSE(machine.allowed_reason.empty());
  CHECK_FALSE(machine.allowed.empty());
  CHECK(machine.online.contains_all(machine.allowed));
  CHECK(machine.locations.size() == machine.online.size());
  for (const unsigned cpu : machine.online) check_location(machine, cpu);

  for (const topology::package& package : machine.packages) CHECK(machine.online.contains_all(package.cpus));
  for (const cpu_set& cache : machine.l2) CHECK(machine.online.contains_all(cache));
  for (const cpu_set& cache : machine.l3) CHECK(machine.online.contains_all(cache));
  CHECK_FALSE(machine.nodes.empty());
  CHECK(std::ranges::is_sorted(machine.nodes, std::ranges::less_equal{}, &topology::node::id));
  for (const topology::node& node : machine.nodes) {
    CHECK(machine.online.contains_all(node.cpus));
    CHECK(node.distances.size() == machine.nodes.size());
  }
  for (const topology::core& core : machine.cores) {
    REQUIRE(core.cpus.first());
    CHECK(machine.online.contains_all(core.cpus));
    const topology::location first = *machine.location_of(*core.cpus.first());
    for (const unsigned cpu : core.cpus) {
      const topology::location place = *machine.location_of(cpu);
      CHECK(place.package == first.package);
      CHECK(place.node == first.node);
      CHECK(place.l2 == first.l2);
      CHECK(place.l3 == first.l3);
    }
  }
}

}  // namespace braid::testing
