// src/thread/affinity.cpp: selects the allowed CPUs of nodes, packages and caches, and orders CPUs for placing threads.
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

/// Returns a list of `count` items, which repeats the given items in their order.
auto repeated(const std::vector<unsigned>& items, std::size_t count) -> std::vector<unsigned> {
  std::vector<unsigned> all;
  all.reserve(count);
  while (!items.empty() && all.size() < count) all.push_back(items[all.size() % items.size()]);
  return all;
}

auto allowed_locations(const topology& machine) -> std::vector<topology::location> {
  std::vector<topology::location> locations;
  for (const topology::location& location : machine.locations)
    if (machine.allowed.contains(location.cpu)) locations.push_back(location);
  return locations;
}

/// Returns the allowed CPUs of each NUMA node, in the order in which threads should use them.
auto queues_of_nodes(const topology& machine) -> std::vector<std::vector<unsigned>> {
  std::vector<topology::location> locations = allowed_locations(machine);
  std::map<unsigned, unsigned> rank;  // the rank of each CPU among the allowed threads of its core
  std::map<unsigned, unsigned> threads;
  for (const topology::location& location : locations) rank[location.cpu] = threads[location.core]++;
  std::ranges::sort(locations, {}, [&](const topology::location& location) {
    return std::tuple(rank[location.cpu], machine.cores[location.core].kind == topology::core_kind::efficiency,
                      location.cpu);
  });
  std::vector<std::vector<unsigned>> queues(machine.nodes.size());
  for (const topology::location& location : locations) queues[location.node].push_back(location.cpu);
  return queues;
}

}  // namespace

auto topology::cpus_of_node(unsigned id) const -> result<cpu_set> {
  const topology::node* node = node_with_id(id);
  if (node == nullptr) return no_such_part();
  return only_allowed(*this, node->cpus);
}

auto topology::cpus_of_package(unsigned id) const -> result<cpu_set> {
  const auto package = std::ranges::find(packages, id, &topology::package::id);
  if (package == packages.end()) return no_such_part();
  return only_allowed(*this, package->cpus);
}

auto topology::cpus_of_l3(std::size_t position) const -> result<cpu_set> {
  if (position >= l3.size()) return no_such_part();
  return only_allowed(*this, l3[position]);
}

auto topology::cpus_of_kind(core_kind kind) const -> result<cpu_set> {
  cpu_set cpus;
  for (const topology::core& core : cores)
    if (core.kind == kind) cpus |= core.cpus;
  if (cpus.empty()) return no_such_part();
  return only_allowed(*this, cpus);
}

auto topology::one_per_core() const -> cpu_set {
  cpu_set cpus;
  for (const topology::core& core : cores)
    if (const auto first = (core.cpus & allowed).first()) cpus.add(*first);
  return cpus;
}

auto topology::spread_over_nodes(std::size_t workers) const -> std::vector<unsigned> {
  const std::vector<std::vector<unsigned>> queues = queues_of_nodes(*this);
  const std::size_t steps = allowed.size();
  std::vector<unsigned> order;
  for (std::size_t step = 0; step < steps; ++step)
    for (const auto& queue : queues)
      if (step < queue.size()) order.push_back(queue[step]);
  return repeated(order, workers);
}

auto topology::compact(std::size_t workers) const -> std::vector<unsigned> {
  std::vector<topology::location> places = allowed_locations(*this);
  std::ranges::sort(places, {}, [](const topology::location& location) {
    return std::tuple(location.package, location.node, location.l3, location.l2, location.core, location.cpu);
  });
  std::vector<unsigned> order;
  std::ranges::transform(places, std::back_inserter(order), &topology::location::cpu);
  return repeated(order, workers);
}

}  // namespace braid
