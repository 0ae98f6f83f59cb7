// braid/runtime/default_runtime.hpp: the runtime of the process; its tasks and its figures.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/dump.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/trace/metric.hpp>

#include <utility>
#include <vector>

namespace braid {

/// Makes the runtime of the process with these options. Not needed where the default ones will do. After `finalize` it
/// begins anew with another one; the one before is destroyed, and with it what references to its parts refer to.
/// Threads: any, but none of a runtime that is ending. Errors: already_set while there is one that was not finalized,
/// by whatever call it was made; closed at the end of the process; as `runtime::create`.
[[nodiscard]] BRAID_API auto initialize(runtime::options options = {}) -> result<void>;

/// The runtime of the process: made with default options by the first call, unless `initialize` was called before, and
/// the same for all code of the process, shared objects included, as long as braid is a shared library. At the latest
/// it is finalized, draining, with the static objects of the process, before those that were made before it. The child
/// of a fork has none of its threads, and starts anew: what is called there first makes a runtime of the child's own.
/// Threads: any. Blocks: the first call, until its threads run.
/// After `finalize` it is the runtime that was ended, whose parts refuse, until `initialize` makes another.
/// Errors: std::system_error with errc::closed where `finalize` came before any was made; where the system gives no
/// threads, its own, and then the next call tries again.
[[nodiscard]] BRAID_API auto default_runtime() -> runtime&;

/// Ends the runtime of the process, if there is one, as `runtime::shutdown` does; no other is made, unless by
/// `initialize`. What is posted or spawned afterwards, after main too, is refused with errc::closed. So are parallel
/// algorithms, `fork_join`, task groups and graphs on threads that are no workers: they throw std::system_error with
/// errc::closed and call nothing. Those that had begun before end as usual. Threads: any, but those of the runtime.
/// Lifetime: the runtime's parts can still be called, and refuse, until `initialize` makes another; after the end of
/// the static objects that holds for its workers only. Errors: would_deadlock on a thread of the runtime.
[[nodiscard]] BRAID_API auto finalize(shutdown_mode mode = shutdown_mode::drain) -> result<void>;

/// The same by `runtime::shutdown_for`: what it returns late, the next `finalize` waits for, or the end of the process.
/// Errors: deadline_exceeded when the time was over first; would_deadlock as above.
[[nodiscard]] BRAID_API auto finalize_for(duration limit) -> result<void>;

namespace detail {

/// Where work goes that names no place: the pool of the worker that calls, else the workers of `nearest_runtime`. None
/// where `finalize` came before any was made. Errors: as `default_runtime`.
[[nodiscard]] BRAID_API auto nearest_executor() -> executor_id;

/// The runtime of the process, if it was made; else the oldest that lives of those that the program has made; else
/// that of the process, which is made now; null where `finalize` came before. Lifetime: the program does not end its
/// runtime while others call this. Errors: as `default_runtime`.
[[nodiscard]] BRAID_API auto nearest_runtime() -> runtime*;

}  // namespace detail

/// Runs `fn` some time later, once: on the pool of the worker that calls; else on the workers of the process, if its
/// runtime was made; else on those of the oldest runtime that lives, if the program has made one by itself.
/// Threads: any. Errors: closed, and then `fn` has been destroyed without being called.
template <detail::job_function Fn>
[[nodiscard]] auto post(Fn&& fn) -> result<void> {
  const detail::executor_use where(detail::nearest_executor());
  if (!where) return fail(errc::closed);
  return post(*where.get(), std::forward<Fn>(fn));
}

/// The same with a future. Threads: any. Errors: in the future, as `spawn` on an executor.
template <typename Fn, typename... Args>
  requires detail::spawnable<Fn, Args...>
auto spawn(Fn&& fn, Args&&... args) -> detail::spawned_future<Fn, Args...> {
  using value = typename detail::spawned_future<Fn, Args...>::value_type;
  const detail::executor_use where(detail::nearest_executor());
  if (!where) return failed_future<value>(make_error_code(errc::closed));
  return spawn(*where.get(), std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// A task, or a callable that gives one, on the runtime whose workers `post` would take: see `spawn` on a runtime.
/// Threads: any.
template <typename T>
auto spawn(spawn_options how, task<T> work) -> future<T> {
  runtime* const where = detail::nearest_runtime();
  if (where == nullptr) return failed_future<T>(make_error_code(errc::closed));
  return spawn(*where, std::move(how), std::move(work));
}
template <typename T>
auto spawn(task<T> work) -> future<T> {
  return spawn(spawn_options(), std::move(work));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Fn&& fn, Args&&... args) {
  return spawn(spawn_options(), detail::task_of(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(spawn_options how, Fn&& fn, Args&&... args) {
  return spawn(std::move(how), detail::task_of(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

/// What the suspended tasks of `of` wait for: those on its loops, and those on its workers and blocking threads that
/// have homes of their own. As `dump()` otherwise, which asks the homes of all runtimes and the program's own.
/// Threads: any, while the runtime lives. Blocks, errors, cost: as `dump()`.
[[nodiscard]] inline auto dump(runtime& of, duration limit = 1s) -> task_dump {
  std::vector<detail::executor_id> where{of.workers().id(), of.blocking().id()};
  for (const loop* const each : of.loops()) where.push_back(each->id());
  return detail::dump_of(where, limit);
}

/// All that is counted of `of`: of each worker, the pool's common queues, the blocking pool, each loop, and the HTTP
/// servers and Redis connections on the loops; and the memory of jobs, which all runtimes of the process share. What
/// each means is its `help`; the names are in docs/metrics.md. Values of one call are read one after the other, while
/// the counters go on.
/// Threads: any, while the runtime lives. Blocks: for short locks, of the blocking pool among others. Errors:
/// std::bad_alloc. Cost: about a microsecond for each worker and loop; counting goes on whether it is called or not.
[[nodiscard]] BRAID_API auto metrics(runtime& of) -> std::vector<metric>;

}  // namespace braid
