// braid/runtime/runtime.hpp: a runtime: pools and event loops as one object.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/detail/loop_driver.hpp>
#include <braid/io/loop.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/scheduling.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace braid {

namespace detail {
struct metrics_reader;
struct runtime_end;
struct runtime_list;
class stall_watch;
}  // namespace detail

/// The shape of a runtime: whether tasks wait for I/O on a separate thread or on the workers.
enum class runtime_shape : std::uint8_t {
  separate,  ///< on one loop with its own thread: computing does not delay it
  merged,    ///< each worker runs a loop between its jobs: a task that becomes ready continues on the same thread
};

/// A runtime: loops that wait for I/O and workers that compute, on separate threads or on the same threads. Threads:
/// create and destroy a runtime on a thread that does not belong to it; any thread may call the member functions.
class BRAID_API runtime {
 public:
  /// A report of a stall: a loop or a worker has run the same job for longer than the limit.
  struct stall {
    enum class place : std::uint8_t { loop, worker };

    place where = place::loop;
    std::string thread;      ///< the name of the thread
    duration at_least = {};  ///< the length of the stall when it was noticed
    /// The functions on the stack of the stalled thread, innermost first. The list is empty if the thread did not
    /// answer the signal.
    std::vector<std::string> functions;
  };

  /// The options of a runtime.
  struct options {
    unsigned workers = 0;  ///< threads that compute; 0: default_worker_count()
    std::string name =
        "braid";  ///< threads are called name-loop, name-0, name-1, …, and name-b-0, … those that may block
    braid::scheduler scheduler = braid::scheduler::work_stealing;  ///< the scheduler of the workers
    runtime_shape shape = runtime_shape::separate;
    std::size_t max_blocking_threads = 64;
    /// The maximum number of functions that may wait for a worker after `post` and `spawn` on threads that are not
    /// workers of the runtime; 0 means no limit. Functions that workers post do not count. Tasks, continuations and
    /// offloaded functions do not count either.
    std::size_t queue_capacity = 0;
    /// Selects what `post` and `spawn` do if `queue_capacity` is reached: wait or refuse the function. If the caller is
    /// on the thread of a loop, `wait` blocks all tasks of that loop.
    when_full on_full = when_full::wait;
    // The following options of the workers are documented in `pool::options`. In a merged runtime workers wait in their
    // loops, and therefore have no spare threads.
    std::function<void(std::size_t)> on_worker_start = {};
    std::function<void(std::size_t)> on_worker_stop = {};
    std::optional<thread_profile> profile = std::nullopt;
    std::optional<braid::scheduling> scheduling = std::nullopt;
    std::optional<cpu_set> affinity = std::nullopt;
    worker_placement placement = worker_placement::anywhere;
    refusal on_refused = refusal::ignore;
    std::optional<worker_registration> registration = std::nullopt;
    unsigned max_spare_threads = 64;
    duration stay_awake = 10us;
    /// The error callback, which receives exceptions of posted jobs and spawned tasks. Without a callback, the message
    /// goes to stderr. The callback may be called on any thread.
    error_callback on_error = {};
    /// The time after which a blocked loop or worker is reported once, by `on_stall` or otherwise on stderr. If it is
    /// zero, the time is the value of the variable BRAID_STALL (such as `500ms` or `2s`); if that variable is not set,
    /// there is no watchdog. See docs/stalls.md
    duration stall_limit = {};
    /// Called for each stall by the watchdog's thread. Must not throw.
    std::function<void(const stall&)> on_stall = {};
  };

  /// Creates a runtime and starts all threads. Errors: errc::invalid_argument for a merged runtime with a scheduler
  /// that has no threads; system errors; not_enough_memory.
  [[nodiscard]] static auto create(options options) -> result<std::unique_ptr<runtime>>;
  [[nodiscard]] static auto create() -> result<std::unique_ptr<runtime>> { return create(options()); }
  /// Stops the tasks, runs accepted work, and joins the threads.
  ~runtime();
  runtime(const runtime&) = delete;
  auto operator=(const runtime&) -> runtime& = delete;

  [[nodiscard]] auto shape() const noexcept -> runtime_shape { return shape_; }

  /// Returns a loop of this runtime. If the calling thread runs one of the loops, returns that loop; otherwise returns
  /// each loop in turn.
  [[nodiscard]] auto io() noexcept -> loop&;
  /// Returns all loops. A separate runtime has one loop. In a merged runtime, each worker has a loop, which has the
  /// same index as the worker.
  [[nodiscard]] auto loops() noexcept -> std::span<loop* const> { return loops_; }
  [[nodiscard]] auto workers() noexcept -> pool& { return *pool_; }
  /// Returns the queue that `queue_capacity` limits, or null if there is no limit.
  [[nodiscard]] auto queue() noexcept -> bounded_executor* { return queue_.get(); }
  /// Returns the pool for jobs that block. It has threads while it has jobs, and for a short time afterwards.
  [[nodiscard]] auto blocking() noexcept -> blocking_pool& { return *blocking_; }

  /// Starts a task without a handle. In a merged runtime any worker may start it; the task then stays on that worker's
  /// loop, or on another loop that has far fewer tasks. Exceptions go to `on_error`.
  /// Errors: errc::closed; the task has then been destroyed without having started.
  [[nodiscard]] auto post(task<void> work) -> result<void>;

  /// Returns how many functions on workers and on blocking threads ended late, after the code that waited for them had
  /// given up (see `offload` with a timeout).
  [[nodiscard]] auto late() const noexcept -> std::uint64_t { return pool_->statistics().late + blocking_->late(); }

  /// Stops the tasks of the loops, runs or drops the accepted jobs (`mode` selects this), and joins the threads. Later
  /// work is refused with errc::closed. You may call it several times and from several threads: every call returns
  /// after the threads have ended.
  /// Errors: would_deadlock on a thread of this runtime.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Does what `shutdown` with the mode `drain` does, but waits at most for the time `limit`. After that time, pending
  /// jobs are dropped and running jobs are requested to stop. The call then returns while the last tasks and jobs may
  /// still run. The destructor, or a later `shutdown`, waits for them. Errors: deadline_exceeded if the tasks and jobs
  /// did not end within `limit`; would_deadlock on a thread of this runtime.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

  /// Runs a task on a loop and blocks until it has ended. Errors: the errors of `sync_wait`.
  template <typename T>
  auto run(task<T> work) -> T {
    return sync_wait(io(), std::move(work));
  }
  /// Runs the task that a callable returns, and blocks until it has ended: `run([&]() -> task<int> { … })`.
  template <detail::task_function Fn>
  auto run(Fn&& fn) {
    return run(detail::make_task(std::forward<Fn>(fn)));
  }

 private:
  explicit runtime(options options);

  friend struct detail::metrics_reader;
  friend struct detail::runtime_end;
  friend struct detail::runtime_list;
  template <typename T>
  friend auto spawn(runtime& runtime, spawn_options options, task<T> work) -> future<T>;

  /// Posts the task that `std::move(make)()` returns. The thread that starts the task also creates it, so that its
  /// frame comes from that thread's memory.
  template <typename Make>
  [[nodiscard]] auto post_made(Make make) -> result<void> {
    auto begin = [this, make = std::move(make)]() mutable { start(std::move(make)()); };
    return braid::post(entrance(), std::move(begin));
  }
  void start_separate(const options& options);
  void start_merged(const options& options);
  void make_pool(pool::options wanted);
  [[nodiscard]] auto is_current() const noexcept -> bool;
  [[nodiscard]] auto entrance() noexcept -> executor&;
  void start(task<void> work);
  void start_here(task<void> work);
  auto count_load(std::size_t index) const noexcept -> std::size_t;
  auto home_for_one_more(std::size_t here) const noexcept -> std::size_t;
  void watch_for_stalls(const options& options);
  void stop_loops();
  [[nodiscard]] auto stop_loops_until(time_point deadline) -> bool;

  const runtime_shape shape_;
  std::unique_ptr<loop> loop_;  // the loop of a separate runtime
  std::unique_ptr<pool> pool_;
  std::unique_ptr<bounded_executor> queue_;    // limits the jobs that wait for `pool_`; null without a capacity
  std::vector<detail::loop_driver*> drivers_;  // the drivers of a merged runtime; the pool's workers own them
  std::vector<loop*> loops_;
  std::unique_ptr<atomic<std::size_t>[]>
      on_the_way_;  // the number of tasks on the way to each driver; written by workers
  std::unique_ptr<blocking_pool> blocking_;
  atomic<std::size_t> next_loop_{0};  // the worker that gets the next work from outside; any thread
  runtime* next_ = nullptr;           // the next one in the list of the process; under its lock
  std::mutex join_mutex_;             // held by the thread that joins the loop's thread
  std::thread loop_thread_;
  // The stall watchdog, or null. This is the last member, because the watchdog must be destroyed before the other
  // members.
  std::unique_ptr<detail::stall_watch> stalls_;
};

namespace detail {
template <>
inline constexpr place_kind place_kind_of<runtime> = place_kind::functions_and_tasks;
}  // namespace detail

/// Starts a task as `runtime::post` does, and returns its future; see `spawn` on a home.
/// Threads: any. Errors: the future fails with errc::closed if the runtime accepts no more work. It fails with
/// errc::stopped if the runtime ended before the task began, or if there was not enough memory to start the task; in
/// the case of missing memory, the error callback also gets the std::bad_alloc.
template <typename T>
auto spawn(runtime& runtime, spawn_options options, task<T> work) -> future<T> {
  auto& state = detail::make_state<detail::inner_task<T>>(&detail::inner_task<T>::continue_end, runtime.entrance().id(),
                                                          std::move(options), std::move(work));
  auto ahead = detail::future_access::make<T>(state);
  detail::task_start<T> start(state);
  static_cast<void>(runtime.post_made(std::move(start)));
  return ahead;
}
template <typename T>
auto spawn(runtime& runtime, task<T> work) -> future<T> {
  return spawn(runtime, spawn_options(), std::move(work));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(runtime& runtime, Fn&& fn, Args&&... args) {
  return spawn(runtime, spawn_options(), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(runtime& runtime, spawn_options options, Fn&& fn, Args&&... args) {
  return spawn(runtime, std::move(options), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

namespace detail {

/// Returns the bounded queue to which the calling thread posts. Returns null if there is no such queue, or if the
/// caller is a worker of the runtime.
inline auto queue_for_caller(runtime& runtime) noexcept -> executor* {
  bounded_executor* const queue = runtime.queue();
  return queue != nullptr && !runtime.workers().is_current() ? queue : nullptr;
}

}  // namespace detail

/// Runs a function on the workers of the runtime. Threads: any. Errors: the future fails as with `spawn` on an
/// executor, and with errc::full if `queue_capacity` is reached and `on_full` is `refuse`.
template <typename Fn, typename... Args>
  requires detail::spawnable<Fn, Args...>
auto spawn(runtime& runtime, Fn&& fn, Args&&... args) -> detail::spawned_future<Fn, Args...> {
  if (executor* const queue = detail::queue_for_caller(runtime)) [[unlikely]]
    return spawn(*queue, std::forward<Fn>(fn), std::forward<Args>(args)...);
  return spawn(runtime.workers(), std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// Posts work without returning a handle: a task as `runtime::post` does, or a function to the workers. Threads: any.
/// Errors: errc::closed; errc::full under the same conditions as for `spawn`. After an error, `work` has been destroyed
/// without having begun.
[[nodiscard]] inline auto post(runtime& runtime, task<void> work) -> result<void> {
  return runtime.post(std::move(work));
}
template <detail::task_function Fn>
[[nodiscard]] auto post(runtime& runtime, Fn&& fn) -> result<void> {
  return runtime.post(detail::make_task(std::forward<Fn>(fn)));
}
template <detail::job_function Fn>
[[nodiscard]] auto post(runtime& runtime, Fn&& fn) -> result<void> {
  if (executor* const queue = detail::queue_for_caller(runtime)) [[unlikely]]
    return post(*queue, std::forward<Fn>(fn));
  return post(runtime.workers(), std::forward<Fn>(fn));
}

namespace detail {

/// The list of the runtimes of the process, oldest first. Free functions use the first runtime in the list if no
/// runtime was initialized.
struct runtime_list {
  static void add(runtime& made);
  static void remove(runtime& gone) noexcept;
  /// Calls `fn` for each runtime. No runtime is destroyed during this call.
  static void for_each(const std::function<void(runtime&)>& fn);

 private:
  static void set_first(runtime* first) noexcept;
};

/// Closes the runtime of the process when static objects are destroyed. The pool object of the runtime remains and
/// refuses work.
struct runtime_end {
  /// Frees the loops of the runtime, which have file descriptors. Requires that the runtime was shut down.
  BRAID_API static void close(runtime& ended) noexcept;
};

}  // namespace detail
}  // namespace braid
