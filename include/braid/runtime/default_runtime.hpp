// braid/runtime/default_runtime.hpp: the default runtime of the process, and functions that use it, so that you need
// not pass a runtime.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/dump.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/trace/metric.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// Creates the runtime of the process with these options. You need this only if the default options are not suitable.
/// After `finalize`, this call destroys the previous runtime and creates a new one; references to parts of the previous
/// runtime become invalid.
/// Threads: any, except threads of a runtime that is ending. Errors: errc::already_set if the process has a runtime
/// that was not finalized, regardless of which call created that runtime; errc::closed at the end of the process;
/// errc::would_deadlock in `on_worker_start` of the process's runtime; the errors of `runtime::create`.
[[nodiscard]] BRAID_API auto initialize(runtime::options options = {}) -> result<void>;

/// Returns the runtime of the process. The first call creates it with default options, unless `initialize` was called
/// before. If braid is a shared library, all code of the process shares this runtime, including shared objects. If the
/// program does not finalize the runtime, it is drained and ended when the static objects of the process are destroyed.
/// The runtime ends before static objects that were constructed earlier are destroyed. After a fork, the child process
/// has none of the runtime's threads; the first call there creates a separate runtime.
/// Threads: any. Blocks: the first call blocks until the threads of the runtime run. After `finalize` it returns the
/// ended runtime, whose parts refuse work, until `initialize` creates another one. Errors: std::system_error with
/// errc::closed if `finalize` was called before a runtime existed; errc::would_deadlock in a hook `on_worker_start`
/// that was passed to `initialize`, because `initialize` waits for that hook; an error of the system if no thread can
/// be started. After an error, the next call tries again.
[[nodiscard]] BRAID_API auto default_runtime() -> runtime&;

/// Ends the runtime of the process, if there is one, as `runtime::shutdown` does. After that, only `initialize` can
/// create another runtime. Work that is posted or spawned later, even after main, is refused with errc::closed. On
/// threads that are not workers, parallel algorithms, `fork_join`, task groups and graphs are also refused: they throw
/// std::system_error with errc::closed and run none of the work. Calls that have already begun end as usual.
/// Threads: any, except those of the runtime. Lifetime: you can still call the runtime's parts, which refuse all work,
/// until `initialize` creates another runtime. After the static objects of the process are destroyed, only the workers
/// of the runtime may still be called. Errors: would_deadlock on a thread of the runtime.
[[nodiscard]] BRAID_API auto finalize(shutdown_mode mode = shutdown_mode::drain) -> result<void>;

/// Ends the runtime as `runtime::shutdown_for` does. If the limit is reached, the next `finalize` or the end of the
/// process waits for the remaining jobs.
/// Errors: deadline_exceeded if the jobs did not end within `limit`; would_deadlock on a thread of the runtime.
[[nodiscard]] BRAID_API auto finalize_for(duration limit) -> result<void>;

namespace detail {

/// Returns the executor for work that was submitted without an executor. On a worker, this is the worker's pool; on
/// other threads, it is the workers of `nearest_runtime`. Returns an empty id if `finalize` was called before a runtime
/// existed.
/// Errors: the errors of `default_runtime`.
[[nodiscard]] BRAID_API auto nearest_executor() -> executor_id;

/// Returns the runtime of the process if it exists. Otherwise, returns the oldest existing runtime that the program has
/// created. If there is no such runtime, creates the runtime of the process. Returns null if `finalize` was called
/// before. Lifetime: the program must not end its runtime while other threads call this function. Errors: the errors of
/// `default_runtime`.
[[nodiscard]] BRAID_API auto nearest_runtime() -> runtime*;

/// Returns the bounded queue of `nearest_runtime`. Returns null if that runtime has no such queue, or if the caller is
/// a worker of any pool.
[[nodiscard]] BRAID_API auto nearest_queue() -> executor*;

}  // namespace detail

/// Runs `fn` once at some later time. On a worker, `fn` runs on the worker's pool. On other threads, `fn` runs on the
/// workers of the process's runtime. If that runtime does not exist, `fn` runs on the workers of the oldest existing
/// runtime that the program has created.
/// Threads: any; a runtime with a `queue_capacity` must exist while other threads call this. Errors: errc::closed;
/// errc::full if the capacity is reached. After an error, `fn` has been destroyed without being called.
template <detail::job_function Fn>
[[nodiscard]] auto post(Fn&& fn) -> result<void> {
  if (executor* const queue = detail::nearest_queue()) [[unlikely]]
    return post(*queue, std::forward<Fn>(fn));
  const detail::executor_use where(detail::nearest_executor());
  if (!where) return fail(errc::closed);
  return post(*where.get(), std::forward<Fn>(fn));
}

/// Runs `fn` on the same executor as `post`, and returns a future of its result.
/// Threads: any. Errors: the errors of `spawn` on an executor, stored in the future.
template <typename Fn, typename... Args>
  requires detail::spawnable<Fn, Args...>
auto spawn(Fn&& fn, Args&&... args) -> detail::spawned_future<Fn, Args...> {
  using value = typename detail::spawned_future<Fn, Args...>::value_type;
  if (executor* const queue = detail::nearest_queue()) [[unlikely]]
    return spawn(*queue, std::forward<Fn>(fn), std::forward<Args>(args)...);
  const detail::executor_use where(detail::nearest_executor());
  if (!where) return failed_future<value>(make_error_code(errc::closed));
  return spawn(*where.get(), std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// Spawns a task, or a callable that returns a task, on the runtime whose workers `post` would use: see `spawn` on a
/// runtime.
/// Threads: any.
template <typename T>
auto spawn(spawn_options options, task<T> work) -> future<T> {
  runtime* const where = detail::nearest_runtime();
  if (where == nullptr) return failed_future<T>(make_error_code(errc::closed));
  return spawn(*where, std::move(options), std::move(work));
}
template <typename T>
auto spawn(task<T> work) -> future<T> {
  return spawn(spawn_options(), std::move(work));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Fn&& fn, Args&&... args) {
  return spawn(spawn_options(), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(spawn_options options, Fn&& fn, Args&&... args) {
  return spawn(std::move(options), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

namespace detail {

/// True for a callable that is passed without an executor and that `spawn` and `post` do not accept with these
/// arguments.
template <typename Fn, typename... Args>
concept refused_callable = has_call<std::decay_t<Fn>> && !work_place<std::remove_cvref_t<Fn>> &&
                           !spawnable<Fn, Args...> && !returns_lazy_work<Fn, Args...>;

}  // namespace detail

/// Does not compile; its error message describes what is wrong with the callable or its arguments.
template <typename Fn, typename... Args>
  requires detail::refused_callable<Fn, Args...>
auto spawn(Fn&& /*fn*/, Args&&... /*args*/) {
  static_cast<void>(detail::refused_call<Fn, Args...>());
  return future<void>();
}
/// Does not compile; its error message describes what is wrong with the callable.
template <typename Fn>
  requires detail::refused_callable<Fn>
auto post(Fn&& /*fn*/) {
  static_cast<void>(detail::refused_call<Fn>());
  return result<void>();
}

/// Reports what the suspended tasks of `runtime` wait for. The tasks of a runtime are the tasks on its loops, and the
/// tasks with their own homes on its workers and blocking threads. `dump()` without a runtime reports the homes of all
/// runtimes and other homes of the program. Threads: any, while the runtime exists. Blocks, errors, cost: the same as
/// for `dump()`.
[[nodiscard]] inline auto dump(runtime& runtime, duration limit = 1s) -> task_dump {
  std::vector<detail::executor_id> where{runtime.workers().id(), runtime.blocking().id()};
  for (const loop* const each : runtime.loops()) where.push_back(each->id());
  return detail::dump_of(where, limit);
}

/// Returns all metrics of `runtime`: of its workers, the pool's common queues, the blocking pool, and the loops with
/// their HTTP servers and Redis connections. The metrics also include the memory of jobs, which all runtimes of the
/// process share. The member `help` of a metric describes it; the names are in docs/metrics.md. The values are read one
/// after the other while the counters continue to change.
/// Threads: any, while the runtime exists. Blocks: for short critical sections of other threads, for instance in the
/// blocking pool. Errors: std::bad_alloc. Cost: about a microsecond for each worker and loop. The metrics are counted
/// in any case, even if this function is never called.
[[nodiscard]] BRAID_API auto metrics(runtime& runtime) -> std::vector<metric>;

}  // namespace braid
