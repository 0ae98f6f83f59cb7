// braid/thread/cgroup.hpp: the CPU limits of this process's cgroups, and the number of workers that follows from them.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace braid {

/// The CPU limits of the cgroups of this process, for cgroup versions 1 and 2. Functions with a parameter `root` use
/// that folder instead of `/`. A file that is missing or malformed sets no limit.
/// Threads: any. Blocks: while it reads or writes a few small files.
struct cgroup {
  /// A limit of CPU time.
  struct quota {
    double cpus = 0;   ///< the CPU time in units of CPUs
    std::string file;  ///< the file with the limit, as the process sees it, without `root`
  };

  /// A limit to a set of CPUs.
  struct cpuset {
    cpu_set cpus;
    std::string file;  ///< the file with the limit, as the process sees it, without `root`
  };

  /// Returns the quotas of the process's cgroup and all its parents, innermost first.
  BRAID_API static auto cpu_quotas(const std::string& root = "/") -> std::vector<quota>;

  /// Returns the smallest of the quotas that `cpu_quotas` returns, or nothing if no quota is set.
  BRAID_API static auto cpu_quota(const std::string& root = "/") -> std::optional<quota>;

  /// Returns the effective cpuset of the process's own cgroup, or of the nearest parent that has a cpuset. Returns
  /// nothing if no file contains a cpuset.
  BRAID_API static auto allowed_cpus(const std::string& root = "/") -> std::optional<cpuset>;

  /// Moves one thread, and no other thread of its process, into the cgroup of `folder`. This function writes to
  /// `cgroup.threads` for version 2 and to `tasks` for version 1, and creates no file. Blocks: while the kernel moves
  /// the thread. Errors: invalid_argument if the folder is not a cgroup, or the thread's id is below 1; system errors,
  /// such as operation_not_supported if a cgroup of version 2 is not threaded.
  [[nodiscard]] BRAID_API static auto attach(const std::string& folder, ::pid_t thread) -> result<void>;
};

namespace this_thread {

/// Moves the calling thread into a cgroup as `cgroup::attach` does. Blocking and errors are those of `cgroup::attach`.
[[nodiscard]] BRAID_API auto attach_to_cgroup(const std::string& folder) -> result<void>;

}  // namespace this_thread

/// The number of workers that a pool starts by default, and the limits from which it was computed.
struct worker_count {
  unsigned workers = 1;
  unsigned allowed_cpus = 1;            ///< CPUs on which the process may run
  std::optional<cgroup::quota> quota;   ///< the quota of the cgroup and its parents, if they limit the time
  std::optional<unsigned> environment;  ///< BRAID_WORKERS, if it is set to a number from 1 to 4096
  std::string reason;                   ///< one sentence for people; names a BRAID_WORKERS that is ignored
};

/// Returns the value of the variable BRAID_WORKERS if it is set. Otherwise, returns the number of allowed CPUs or the
/// quota rounded up, whichever is smaller. The result is at least one. If `root` is given, files are read below that
/// folder instead of `/`. Threads: any, while no thread changes the environment. Blocks: while it reads a few small
/// files.
BRAID_API auto default_worker_count(const std::string& root = "/") -> worker_count;

}  // namespace braid
