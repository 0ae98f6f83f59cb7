// braid/task/quiesce.hpp: waits until the threads of the library have left the code of a plug-in.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/time_span.hpp>

namespace braid {

/// Blocks until each thread of the library has left the code of the program that the thread was running when this
/// function was called. Such code is in jobs, tasks, functions of timers, hooks and callbacks. A future becomes ready
/// slightly before the thread that fulfils it returns from the job's code; after this call, that thread has returned,
/// too. Call it before you unload a plug-in whose work is done (docs/plugins.md). The call waits for every running job,
/// including jobs of other plug-ins. If a job never ends, `quiesce` waits for ever, and `quiesce_for` reaches its
/// limit. The call does not wait for jobs that begin later. In the child process after a fork, there are no other
/// threads to wait for. Threads: any thread that is not in a job, a task or a callback of the library. Blocks: until
/// all running jobs, and the current iterations of all loops, have ended. Errors: would_deadlock in a job, a task or a
/// callback, which would wait for itself. Cost: some microseconds if all threads sleep.
[[nodiscard]] BRAID_API auto quiesce() -> result<void>;

/// Works like `quiesce`, but waits at most `limit`. Errors: the errors of `quiesce`, and deadline_exceeded.
[[nodiscard]] BRAID_API auto quiesce_for(detail::time_span limit) -> result<void>;

}  // namespace braid
