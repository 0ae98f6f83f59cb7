// braid/thread/this_thread.hpp: what thread_info does for any thread, for the calling one, without looking it up.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/name.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/thread_info.hpp>

/// Each does for the calling thread what the member of `thread_info` of the same name does; `name`, `set_name` and
/// `info` come from the headers above. Threads: any. Blocks: never. Errors: the system's own codes.
namespace braid::this_thread {

/// The CPUs that the calling thread may run on.
[[nodiscard]] BRAID_API auto affinity() -> result<cpu_set>;
/// Lets the calling thread run on these CPUs only.
[[nodiscard]] BRAID_API auto set_affinity(const cpu_set& cpus) -> result<void>;
/// The policy and priority by which the system schedules the calling thread.
[[nodiscard]] BRAID_API auto scheduling() -> result<braid::scheduling>;
/// Gives the calling thread another policy and priority.
[[nodiscard]] BRAID_API auto set_scheduling(const braid::scheduling& wanted) -> result<void>;
/// The nice value of the calling thread.
[[nodiscard]] BRAID_API auto nice() -> result<nice_value>;
/// Gives the calling thread another nice value.
[[nodiscard]] BRAID_API auto set_nice(nice_value wanted) -> result<void>;
/// The real-time priority of the calling thread.
[[nodiscard]] BRAID_API auto priority() -> result<realtime_priority>;
/// Gives the calling thread another real-time priority.
[[nodiscard]] BRAID_API auto set_priority(realtime_priority wanted) -> result<void>;

}  // namespace braid::this_thread
