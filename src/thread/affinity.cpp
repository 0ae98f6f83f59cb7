// src/thread/affinity.cpp: parts of a topology cut to the allowed CPUs, and orders of its CPUs.
#include <braid/thread/topology.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace braid {
namespace {

auto no_such_part() { return fail(std::make_error_code(std::errc::no_such_device)); }

auto only_allowed(const topology& machine, const cpu_set& cpus) -> result<cpu_set> {
  cpu_set allowed = cpus & machine.allowed;
  if (allowed.empty()) return fail(errc::invalid_argument);
  return allowed;
}

/// Items one after the other, from the beginning again, until there are `count`.
auto repeated(const std::vector<unsigned>& items, std::size_t count) -> std::vector<unsigned> {
  std::vector<unsigned> all;
  all.reserve(count);
  while (!items.empty() && all.size() < count) all.push_back(items[all.size() % items.size()]);
  return all;
}

auto allowed_locations(const topology& machine) -> std::vector<cpu_location> {
  std::vector<cpu_location> locations;
  for (const cpu_location& location : machine.locations)
    if (machine.allowed.contains(location.cpu)) locations.push_back(location);
  return locations;
}

/// The allowed CPUs of each node, those first that a node should use first.
auto queues_of_nodes(const topology& machine) -> std::vector<std::vector<unsigned>> {
  std::vector<cpu_location> locations = allowed_locations(machine);
  std::map<unsigned, unsigned> rank;  // of a CPU among the allowed threads of its core
  std::map<unsigned, unsigned> threads;
  for (const cpu_location& location : locations) rank[location.cpu] = threads[location.core]++;
  std::ranges::sort(locations, {}, [&](const cpu_location& location) {
    return std::tuple(rank[location.cpu], machine.cores[location.core].kind == core_kind::efficiency, location.cpu);
  });
  std::vector<std::vector<unsigned>> queues(machine.nodes.size());
  for (const cpu_location& location : locations) queues[location.node].push_back(location.cpu);
  return queues;
}

}  // namespace

auto affinity_for_node(const topology& machine, unsigned id) -> result<cpu_set> {
  const numa_node* node = machine.node_with_id(id);
  if (node == nullptr) return no_such_part();
  return only_allowed(machine, node->cpus);
}

auto affinity_for_package(const topology& machine, unsigned id) -> result<cpu_set> {
  const auto package = std::ranges::find(machine.packages, id, &cpu_package::id);
  if (package == machine.packages.end()) return no_such_part();
  return only_allowed(machine, package->cpus);
}

auto affinity_for_l3(const topology& machine, std::size_t position) -> result<cpu_set> {
  if (position >= machine.l3.size()) return no_such_part();
  return only_allowed(machine, machine.l3[position]);
}

auto affinity_for_kind(const topology& machine, core_kind kind) -> result<cpu_set> {
  cpu_set cpus;
  for (const cpu_core& core : machine.cores)
    if (core.kind == kind) cpus |= core.cpus;
  if (cpus.empty()) return no_such_part();
  return only_allowed(machine, cpus);
}

auto one_per_core(const topology& machine) -> cpu_set {
  cpu_set cpus;
  for (const cpu_core& core : machine.cores)
    if (const auto first = (core.cpus & machine.allowed).first()) cpus.add(*first);
  return cpus;
}

auto spread_over_nodes(const topology& machine, std::size_t workers) -> std::vector<unsigned> {
  const std::vector<std::vector<unsigned>> queues = queues_of_nodes(machine);
  const std::size_t allowed = machine.allowed.size();
  std::vector<unsigned> order;
  for (std::size_t step = 0; step < allowed; ++step)
    for (const auto& queue : queues)
      if (step < queue.size()) order.push_back(queue[step]);
  return repeated(order, workers);
}

auto compact(const topology& machine, std::size_t workers) -> std::vector<unsigned> {
  std::vector<cpu_location> locations = allowed_locations(machine);
  std::ranges::sort(locations, {}, [](const cpu_location& location) {
    return std::tuple(location.package, location.node, location.l3, location.l2, location.core, location.cpu);
  });
  std::vector<unsigned> order;
  std::ranges::transform(locations, std::back_inserter(order), &cpu_location::cpu);
  return repeated(order, workers);
}

}  // namespace braid
