// braid/thread/cgroup.hpp: what the cgroup leaves this process, and how many workers that makes.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace braid {

/// CPU time that a cgroup grants.
struct cpu_quota {
  double cpus = 0;             ///< the time of so many CPUs
  std::filesystem::path file;  ///< that says so, as the process sees it, whatever `root` was
};

/// CPUs that a cgroup grants.
struct cgroup_cpus {
  cpu_set cpus;
  std::filesystem::path file;  ///< that says so, as the process sees it, whatever `root` was
};

/// The quotas of versions 1 and 2 over the process's own cgroup and all its parents, each from the inside out.
/// `root` replaces `/`. Files that are missing or make no sense are no quota.
/// Threads: any. Blocks: while it reads a few small files, as the two functions below do.
BRAID_API auto cgroup_cpu_quotas(const std::filesystem::path& root = "/") -> std::vector<cpu_quota>;

/// The smallest of `cgroup_cpu_quotas`; nothing where no quota is set.
BRAID_API auto cgroup_cpu_quota(const std::filesystem::path& root = "/") -> std::optional<cpu_quota>;

/// The effective cpuset of the process's own cgroup, or of the nearest parent that has one. `root` replaces `/`.
/// Nothing where no file says it.
BRAID_API auto cgroup_cpu_set(const std::filesystem::path& root = "/") -> std::optional<cgroup_cpus>;

/// Moves one thread, and no other of its process, into the cgroup that `folder` is: writes `cgroup.threads` of version
/// 2, `tasks` of version 1, and creates nothing.
///
/// Threads: any. Blocks: while the kernel moves the thread.
/// Errors: invalid_argument for a folder that is no cgroup, or a thread below 1; the system's own codes, such as
/// operation_not_supported for a cgroup of version 2 that is not of the kind for threads.
[[nodiscard]] BRAID_API auto attach_to_cgroup(const std::filesystem::path& folder, ::pid_t thread) -> result<void>;

namespace this_thread {

/// Moves the calling thread, as `braid::attach_to_cgroup` does. Blocks and errors: as there.
[[nodiscard]] BRAID_API auto attach_to_cgroup(const std::filesystem::path& folder) -> result<void>;

}  // namespace this_thread
/// The number of workers that a pool starts by default, with what it was derived from.
struct worker_count {
  unsigned workers = 1;
  unsigned allowed_cpus = 1;            ///< CPUs on which the process may run
  std::optional<cpu_quota> quota;       ///< what the cgroup and its parents grant, where they limit the time
  std::optional<unsigned> environment;  ///< BRAID_WORKERS, where it is set to a number from 1 to 4096
  std::string reason;                   ///< one sentence for people; names a BRAID_WORKERS that is ignored
};

/// BRAID_WORKERS if it is set, otherwise the smaller of the allowed CPUs and the quota rounded up; at least one.
/// `root` replaces `/`, as for `read_allowed_cpus` and `cgroup_cpu_quota`. Threads: any; no other may change the
/// environment meanwhile. Blocks: while it reads a few small files.
BRAID_API auto default_worker_count(const std::filesystem::path& root = "/") -> worker_count;

}  // namespace braid
