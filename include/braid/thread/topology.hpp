// braid/thread/topology.hpp: what of a machine lies close together: packages, cores, shared caches, memory nodes.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/cpu_set.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace braid {

/// Where the topology was read from.
enum class topology_source : std::uint8_t {
  hwloc,    ///< the library of that name
  sysfs,    ///< the files of the kernel
  nothing,  ///< no source: every allowed CPU is a core of its own, in one package and one node
};

/// How a core compares with the others of its machine.
enum class core_kind : std::uint8_t { alike, performance, efficiency };

/// A socket.
struct cpu_package {
  unsigned id = 0;  ///< as the system numbers it
  cpu_set cpus;
};

/// A core and its hardware threads.
struct cpu_core {
  cpu_set cpus;
  core_kind kind = core_kind::alike;
};

/// Memory with the CPUs that are next to it, which may be none.
struct numa_node {
  unsigned id = 0;  ///< as the system numbers it, with gaps where it has gaps
  cpu_set cpus;
  std::vector<unsigned> distances;  ///< to each node, in the order of `topology::nodes`; 10 is the node itself
};

/// Where one CPU lies: positions in the lists of its topology.
struct cpu_location {
  unsigned cpu = 0;
  unsigned package = 0;
  unsigned node = 0;
  unsigned core = 0;
  std::optional<unsigned> l2;  ///< nothing where the cache is not known
  std::optional<unsigned> l3;
};

/// The CPUs that are online. Each of them lies in exactly one package, node and core, and in at most one group of each
/// cache, whatever the system's files say. The lists are ordered by their first CPU, nodes by their id.
/// Threads: a value.
struct topology {
  topology_source source = topology_source::nothing;
  std::string reason;  ///< one sentence: where the answer comes from, and why not from a better source
  cpu_set online;
  cpu_set allowed;             ///< those that this process may use; never empty, all of them online
  std::string allowed_reason;  ///< what limits them

  std::vector<cpu_package> packages;
  std::vector<numa_node> nodes;
  std::vector<cpu_core> cores;
  std::vector<cpu_set> l2;
  std::vector<cpu_set> l3;
  std::vector<cpu_location> locations;  ///< of each CPU, in ascending order

  /// Where a CPU lies; null for one that is not online. Lifetime: until the topology changes.
  [[nodiscard]] BRAID_API auto location_of(unsigned cpu) const noexcept -> const cpu_location*;

  /// The node with this id; null where there is none. Lifetime: until the topology changes.
  [[nodiscard]] BRAID_API auto node_with_id(unsigned id) const noexcept -> const numa_node*;
};

/// The topology of this machine, from the first source that answers: `first`, and after it the others in their order.
/// Another `root` than `/` is another machine, of which only files are read. Never fails: where no source answers, or
/// what one says makes no sense, the lists are filled so that they keep what `topology` promises.
/// Threads: any. Blocks: for thousands of small reads on a large machine; call it once.
BRAID_API auto read_topology(const std::filesystem::path& root = "/", topology_source first = topology_source::hwloc)
    -> topology;

/// Which hwloc is used, such as `2.9`; otherwise why none is. Threads: any. Blocks: the first call, while it loads it.
BRAID_API auto hwloc_state() -> std::string;

}  // namespace braid
