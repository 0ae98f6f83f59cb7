// braid/thread/worker_count.hpp: how many workers this process should run, and why.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/cgroup.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace braid {

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
