// braid/thread/worker_count.hpp: how many workers this process should run, and why.
#pragma once

#include <braid/base/config.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace braid {

/// The number of workers that a pool starts when nobody says otherwise, with what it was derived from.
struct worker_count {
  unsigned workers = 1;
  unsigned allowed_cpus = 1;            ///< CPUs in the affinity mask of the process
  std::optional<double> quota;          ///< CPUs that the cgroup and its parents grant, where they limit them
  std::optional<unsigned> environment;  ///< BRAID_WORKERS, where it is set to a number from 1 to 4096
  std::string reason;                   ///< one sentence for people
};

/// BRAID_WORKERS if it is set, otherwise the smaller of the allowed CPUs and the quota rounded up; at least one.
/// `root` replaces `/` when the files of cgroups are read.
BRAID_API auto default_worker_count(const std::filesystem::path& root = "/") -> worker_count;

/// CPUs granted by the quotas of cgroups v1 and v2, the smallest over the process's own cgroup and all its parents.
/// Nothing where no quota is set.
BRAID_API auto cgroup_cpu_quota(const std::filesystem::path& root = "/") -> std::optional<double>;

}  // namespace braid
