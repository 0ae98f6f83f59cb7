// braid/thread/detail/allowed_cpus.hpp: the CPUs on which this process may run, and what says so.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/cpu_set.hpp>

#include <filesystem>
#include <string>

namespace braid::detail {

/// What is left of the machine for this process.
struct allowed_cpus {
  cpu_set cpus;        ///< never empty
  std::string reason;  ///< the sets whose intersection this is, for people
};

/// The affinity mask of the process, its cpuset and the CPUs that are online, intersected. Another `root` than `/` is
/// another machine: the mask comes from `proc/self/status` there, and the mask of this process counts only where
/// nothing at all can be read. A set that would leave nothing is passed over, and the reason says so.
/// Never fails. Threads: any. Blocks: while it reads a few small files.
BRAID_API auto read_allowed_cpus(const std::filesystem::path& root = "/") -> allowed_cpus;

}  // namespace braid::detail
