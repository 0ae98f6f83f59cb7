// braid/thread/detail/allowed_cpus.hpp: the CPUs on which this process may run, and the reason why.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/cpu_set.hpp>

#include <string>

namespace braid::detail {

/// The CPUs of the machine that this process may use.
struct allowed_cpus {
  cpu_set cpus;        ///< never empty
  std::string reason;  ///< the sets that were intersected, as text for people
};

/// Returns the intersection of the affinity mask of the process, its cpuset and the online CPUs. If `root` is not `/`,
/// the files below `root` describe another machine. The mask is then read from `proc/self/status` below `root`; the
/// mask of this process is used only if no file can be read at all. A set is ignored if the intersection with it would
/// be empty; `reason` of the result then mentions this. This function never fails.
/// Threads: any. Blocks: while it reads a few small files.
BRAID_API auto read_allowed_cpus(const std::string& root = "/") -> allowed_cpus;

}  // namespace braid::detail
