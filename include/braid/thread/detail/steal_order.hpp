// braid/thread/detail/steal_order.hpp: the order in which a worker visits victims. Victims with the nearest caches and
// memory come first.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace braid::detail {

/// The kinds of hardware that two CPUs can share, from near to far.
enum class cpu_nearness : std::uint8_t { same_cpu, same_core, same_l2, same_l3, same_node, other_node, unknown };

/// Returns the closest hardware that two CPUs share, or `unknown` if the topology does not contain both. Threads: any.
BRAID_API auto nearness_of(const topology& machine, unsigned a, unsigned b) -> cpu_nearness;

/// Returns all workers except `worker`, nearest first. `cpus` contains the CPU of each worker. Other memory nodes come
/// in the order of their distance. Equally near workers come in the order of their index, starting after `worker` and
/// wrapping around, so that not all thieves begin with the same victim. The result depends only on the arguments.
/// Requires that `worker` is less than `cpus.size()`.
/// Threads: any. Cost: O(n log n) for n workers.
BRAID_API auto steal_order(const topology& machine, std::span<const unsigned> cpus, std::size_t worker)
    -> std::vector<std::size_t>;

}  // namespace braid::detail
