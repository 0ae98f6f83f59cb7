// braid/thread/detail/steal_order.hpp: the order of victims for a worker: those with near caches and memory come first.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace braid::detail {

/// The closest hardware that two CPUs share.
enum class cpu_nearness : std::uint8_t { same_cpu, same_core, same_l2, same_l3, same_node, other_node, unknown };

/// Returns the closest level that two CPUs share, or `unknown` if the topology does not contain both.
/// Threads: any.
BRAID_API auto nearness_of(const topology& machine, unsigned a, unsigned b) -> cpu_nearness;

/// Returns all workers except `worker`, the nearest first. `cpus` contains the CPU of each worker. Other nodes come in
/// the order of their distance; equally near workers come in the order of their index from `worker` on, wrapping
/// around, so that not all thieves begin with the same victim. The same arguments give the same order. Requires worker
/// < cpus.size().
/// Threads: any. Cost: O(n log n) for n workers.
BRAID_API auto steal_order(const topology& machine, std::span<const unsigned> cpus, std::size_t worker)
    -> std::vector<std::size_t>;

}  // namespace braid::detail
