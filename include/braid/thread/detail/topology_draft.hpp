// braid/thread/detail/topology_draft.hpp: the data that a source (such as the kernel's files) reports about a machine,
// and its conversion to a topology.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/topology.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace braid::detail {

/// The report of a source about one CPU. Any field may be missing, or may contradict the source's reports about other
/// CPUs.
struct cpu_claim {
  std::optional<unsigned> package;
  std::optional<unsigned long> capacity;  ///< in any unit that is the same for all
  cpu_set core;                           ///< the CPUs that share the core, and the second and third level of cache
  cpu_set l2;
  cpu_set l3;
};

/// The report of a source about a machine.
struct topology_draft {
  topology_source source = topology_source::nothing;
  std::string reason;
  cpu_set online;
  std::map<unsigned, cpu_claim> cpus;
  std::vector<topology::node> nodes;
};

/// Converts any draft to a valid topology. If the reports about two CPUs contradict each other, the report about the
/// CPU with the lower number is used.
BRAID_API auto settle(topology_draft draft, allowed_cpus allowed) -> topology;

/// Reads the kernel's files. If the files name no CPU, the source of the result is `nothing`.
BRAID_API auto draft_from_sysfs(const std::filesystem::path& root) -> topology_draft;

/// Reads the topology of this machine from its system: on Linux, from the kernel's files.
BRAID_API auto draft_from_machine() -> topology_draft;

/// Queries hwloc about this machine. The source of the result is `nothing` if hwloc is not available, and the reason
/// mentions that. Capacities and distances are not queried.
BRAID_API auto draft_from_hwloc() -> topology_draft;

/// Adds the speed of each CPU, as the kernel's files report it, to the draft. `add_distances` adds the distances
/// between the nodes of the draft.
BRAID_API void add_capacities(const std::filesystem::path& root, topology_draft& draft);
BRAID_API void add_distances(const std::filesystem::path& root, topology_draft& draft);

}  // namespace braid::detail
