// src/thread/steal_order.cpp: orders a worker's victims by the caches and NUMA nodes that their CPUs share with the
// worker's CPU.
#include <braid/base/config.hpp>
#include <braid/thread/detail/steal_order.hpp>

#include <algorithm>
#include <utility>

namespace braid::detail {
namespace {

auto nearness(const topology::location* a, const topology::location* b) -> cpu_nearness {
  if (a == nullptr || b == nullptr) return cpu_nearness::unknown;
  if (a->cpu == b->cpu) return cpu_nearness::same_cpu;
  if (a->core == b->core) return cpu_nearness::same_core;
  if (a->l2 && a->l2 == b->l2) return cpu_nearness::same_l2;
  if (a->l3 && a->l3 == b->l3) return cpu_nearness::same_l3;
  return a->node == b->node ? cpu_nearness::same_node : cpu_nearness::other_node;
}

/// Returns how far apart two CPUs are. CPUs are first compared by the caches that they share, and then by the distance
/// of their NUMA nodes.
auto distance(const topology& machine, const topology::location* from, const topology::location* to)
    -> std::pair<cpu_nearness, unsigned> {
  const cpu_nearness near = nearness(from, to);
  if (near != cpu_nearness::other_node) return {near, 0};
  return {near, machine.nodes[from->node].distances[to->node]};
}

}  // namespace

auto nearness_of(const topology& machine, unsigned a, unsigned b) -> cpu_nearness {
  return nearness(machine.location_of(a), machine.location_of(b));
}

auto steal_order(const topology& machine, std::span<const unsigned> cpus, std::size_t worker)
    -> std::vector<std::size_t> {
  BRAID_EXPECTS(worker < cpus.size(), "the worker must be one of the workers whose CPUs are listed");
  const topology::location* const own = machine.location_of(cpus[worker]);
  // Each victim is stored as its distance and its step.
  std::vector<std::pair<std::pair<cpu_nearness, unsigned>, std::size_t>> victims;
  for (std::size_t step = 1; step < cpus.size(); ++step)
    victims.emplace_back(distance(machine, own, machine.location_of(cpus[(worker + step) % cpus.size()])), step);
  std::ranges::sort(victims);
  std::vector<std::size_t> order;
  for (const auto& victim : victims) order.push_back((worker + victim.second) % cpus.size());
  return order;
}

}  // namespace braid::detail
