// braid/thread/topology.hpp: the processors, cores, caches and memory nodes of this machine, and CPU sets for them.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace braid {

/// The source from which the data of a topology was read.
enum class topology_source : std::uint8_t {
  hwloc,    ///< the library hwloc
  sysfs,    ///< the files of the Linux kernel
  windows,  ///< a function of Windows
  nothing,  ///< no source: every allowed CPU counts as a core, in one package and one node
};

/// The online CPUs of a machine. Each CPU is in exactly one package, node and core, and in at most one group of each
/// cache, even if the system's files are inconsistent. Lists are ordered by their first CPU, nodes by their id.
/// Threads: like any value.
struct topology {
  /// The kind of a core compared with the other cores of its machine.
  enum class core_kind : std::uint8_t { alike, performance, efficiency };

  /// A CPU socket.
  struct package {
    unsigned id = 0;  ///< the number of the package in the system
    cpu_set cpus;
  };

  /// A core and its hardware threads.
  struct core {
    cpu_set cpus;
    topology::core_kind kind = topology::core_kind::alike;
  };

  /// A memory node with its CPUs. It may have no CPUs.
  struct node {
    unsigned id = 0;  ///< the number that the system assigns, which may have gaps
    cpu_set cpus;
    std::vector<unsigned> distances;  ///< distances to `topology::nodes`, in their order; 10 is the node itself
  };

  /// The location of one CPU, as indexes in the lists of its topology.
  struct location {
    unsigned cpu = 0;
    unsigned package = 0;
    unsigned node = 0;
    unsigned core = 0;
    std::optional<unsigned> l2;  ///< nothing if the cache is unknown
    std::optional<unsigned> l3;
  };

  topology_source source = topology_source::nothing;
  std::string reason;  ///< one sentence: the source of the answer, and why no better source was used
  cpu_set online;
  cpu_set allowed;             ///< the CPUs that this process may use; never empty, all of them online
  std::string allowed_reason;  ///< the reason for `allowed`

  std::vector<package> packages;
  std::vector<node> nodes;
  std::vector<core> cores;
  std::vector<cpu_set> l2;
  std::vector<cpu_set> l3;
  std::vector<location> locations;  ///< the location of each CPU, in ascending order

  /// Returns the location of a CPU, or null if the CPU is not online.
  /// Lifetime: the pointer is valid until the topology changes.
  [[nodiscard]] BRAID_API auto location_of(unsigned cpu) const noexcept -> const location*;

  /// Returns the node with this id, or null if there is no such node.
  /// Lifetime: the pointer is valid until the topology changes.
  [[nodiscard]] BRAID_API auto node_with_id(unsigned id) const noexcept -> const node*;

  /// Reads the topology of this machine. It tries the source `first`, and then the other sources in order, until a
  /// source returns data. If `root` is not `/`, the folder `root` contains the files of another machine, and only files
  /// are read. Never fails: missing or inconsistent data is completed to a valid `topology`.
  /// Threads: any. Blocks: for thousands of small reads on a large machine; call it once.
  BRAID_API static auto read(const std::string& root = "/", topology_source first = topology_source::hwloc) -> topology;

  /// Returns the version of hwloc that is used, such as `2.9`, or the reason why hwloc is not used.
  /// Threads: any.
  /// Blocks: the first call blocks while it loads hwloc.
  BRAID_API static auto hwloc_state() -> std::string;

  // The following functions return only allowed CPUs. Any thread may call them. They read no files, only the topology.

  /// Returns the allowed CPUs of the memory node with this id.
  /// Errors: no_such_device if there is no such node; errc::invalid_argument if no CPU of the node is allowed (the code
  /// that the system returns for an empty mask).
  [[nodiscard]] BRAID_API auto cpus_of_node(unsigned id) const -> result<cpu_set>;
  /// Returns the allowed CPUs of the package with this id. Errors: the errors of `cpus_of_node`.
  [[nodiscard]] BRAID_API auto cpus_of_package(unsigned id) const -> result<cpu_set>;
  /// Returns the allowed CPUs of the shared cache at this index of `l3`. Errors: the errors of `cpus_of_node`.
  [[nodiscard]] BRAID_API auto cpus_of_l3(std::size_t position) const -> result<cpu_set>;
  /// Returns the allowed CPUs of all cores of one kind. Errors: the errors of `cpus_of_node`.
  [[nodiscard]] BRAID_API auto cpus_of_kind(core_kind kind) const -> result<cpu_set>;

  /// Returns the first allowed CPU of every core that has an allowed CPU. If you run one thread on each of these CPUs,
  /// no two threads share a core.
  [[nodiscard]] BRAID_API auto one_per_core() const -> cpu_set;

  /// Chooses one CPU for each of `workers` workers, so that the CPUs are far from each other. Successive workers get
  /// CPUs of different nodes. Within a node, one CPU of each core is chosen first, with efficiency cores last. The
  /// other hardware threads follow. If there are more workers than allowed CPUs, the sequence repeats.
  [[nodiscard]] BRAID_API auto spread_over_nodes(std::size_t workers) const -> std::vector<unsigned>;

  /// Chooses one CPU for each of `workers` workers, so that the CPUs are close to each other. The hardware threads of a
  /// core come first, then the cores that share a cache, then those that share a node, then those that share a package.
  /// If there are more workers than allowed CPUs, the sequence repeats.
  [[nodiscard]] BRAID_API auto compact(std::size_t workers) const -> std::vector<unsigned>;
};

}  // namespace braid
