// braid/thread/affinity.hpp: sets of CPUs for threads, and places for workers, by what lies close together.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/topology.hpp>

#include <cstddef>
#include <vector>

namespace braid {

// All functions give allowed CPUs only, may be called from any thread, and read nothing but the topology. Errors, for
// all that give a result: no_such_device where the topology has no such part; invalid_argument, as the system gives
// for an empty mask, where none of its CPUs is allowed.

/// The allowed CPUs of the memory node with this id. Errors: no_such_device where there is none; errc::invalid_argument
/// where none of its CPUs is allowed.
[[nodiscard]] BRAID_API auto affinity_for_node(const topology& machine, unsigned id) -> result<cpu_set>;
/// The allowed CPUs of the package with this id. Errors: as above.
[[nodiscard]] BRAID_API auto affinity_for_package(const topology& machine, unsigned id) -> result<cpu_set>;
/// The allowed CPUs of the shared cache at this position of `topology::l3`. Errors: as above.
[[nodiscard]] BRAID_API auto affinity_for_l3(const topology& machine, std::size_t position) -> result<cpu_set>;

/// The allowed CPUs of all cores of one kind. Errors: as above.
[[nodiscard]] BRAID_API auto affinity_for_kind(const topology& machine, core_kind kind) -> result<cpu_set>;

/// The first allowed CPU of every core that has one: as many as can compute without sharing a core.
BRAID_API auto one_per_core(const topology& machine) -> cpu_set;

/// A CPU for each of `workers`, far from each other: round robin over the nodes; within a node first one CPU of each
/// core, those that are not efficiency cores before those that are, then the other hardware threads. Begins again when
/// the allowed CPUs run out.
BRAID_API auto spread_over_nodes(const topology& machine, std::size_t workers) -> std::vector<unsigned>;

/// A CPU for each of `workers`, close to each other: the hardware threads of a core, then the cores of a cache, of a
/// node, of a package. Begins again when the allowed CPUs run out.
BRAID_API auto compact(const topology& machine, std::size_t workers) -> std::vector<unsigned>;

}  // namespace braid
