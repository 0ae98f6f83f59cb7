// braid/task/quiesce.hpp: waiting until the threads of the library have left the code of a plug-in.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/time_span.hpp>

namespace braid {

/// Blocks until each thread of the library has left the code of the program that it was running when this was called:
/// jobs, tasks, timers, hooks and callbacks. A future becomes ready a moment before the thread that fulfilled it
/// returns from the code of the job; after this call that moment has passed. Call it before you unload a plug-in whose
/// work is done (docs/plugins.md). It waits for every running job, including those of others: if one never ends, it
/// waits for ever, and `quiesce_for` gives up. It does not wait for jobs that begin later. In the child of a fork no
/// other thread is left.
/// Threads: any that is not in a job, a task or a callback of the library. Blocks: until all running jobs have ended,
/// and the iterations of all loops. Errors: would_deadlock from such a thread, which would wait for itself. Cost: some
/// microseconds if all threads sleep.
[[nodiscard]] BRAID_API auto quiesce() -> result<void>;

/// Does the same as `quiesce`, but waits for no longer than `limit`. Errors: deadline_exceeded as well.
[[nodiscard]] BRAID_API auto quiesce_for(detail::time_span limit) -> result<void>;

}  // namespace braid
