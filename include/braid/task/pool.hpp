// braid/task/pool.hpp: the pool of worker threads that run jobs, and its options.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/inbox.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/job_times.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/detail/registry_handle.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/scheduling.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// The scheduler of a pool. Schedulers differ in the queues that they use, and in which workers take jobs from a queue.
enum class scheduler : std::uint8_t {
  work_stealing,  ///< jobs are queued per worker; a worker without jobs steals half of another queue
  /// The job goes to the context of the worker with the least work. Other workers take the job only if it waits behind
  /// a long job.
  least_loaded,
  shared_queue,  ///< one queue, from which all workers take jobs in order
};

/// The CPUs that the workers of a pool use.
enum class worker_placement : std::uint8_t {
  anywhere,  ///< each worker may run on every allowed CPU
  spread,    ///< each worker gets one CPU, round robin
};

/// Options for the registration of a pool's workers. The workers are registered under their names while they run. The
/// registry is a `thread_registry` (braid/threads.hpp).
struct worker_registration {
  std::string tag;
  detail::registry_handle registry = {};  ///< `default_registry()` at the construction of the options
};

/// Selects what a shutdown does with jobs that were accepted and have not started.
enum class shutdown_mode : std::uint8_t {
  drain,         ///< the jobs run first
  drop_pending,  ///< the jobs are dropped: waiters fail with errc::dropped
  stop_now,      ///< like drop_pending; in addition, running jobs that poll the pool's stop token can end early
};

class registration;

namespace detail {
template <scheduling_policy Policy>
class scheduler_for;
class spare_threads;
struct metrics_reader;
}  // namespace detail

/// A pool of worker threads that run posted jobs. The destructor drains the pool.
/// Threads: any thread may call every member, but workers of the pool must not call `wait_idle`, `shutdown`,
/// `shutdown_for` or the destructor.
class BRAID_API pool : public executor {
 public:
  /// The options of a pool: its workers, their scheduler and their settings.
  struct options {
    /// The number of workers. 0 means default_worker_count(). That number is cached. It is computed again only if
    /// BRAID_WORKERS or the affinity of the process has changed, so a change of cgroup quotas alone is not noticed.
    unsigned workers = 0;
    std::string name = "braid";  ///< threads are called name-0, name-1, …
    braid::scheduler scheduler = braid::scheduler::work_stealing;
    /// The error callback, which receives exceptions of posted jobs and hooks. Without a callback, or if the callback
    /// throws, the message goes to stderr. The callback is called on the worker.
    error_callback on_error = {};
    /// Hooks that each worker calls with its index. `on_worker_start` is called after the worker has received its name
    /// and settings, and before its first job. The pool's constructor returns after these calls. `on_worker_stop` is
    /// the last call of a worker.
    std::function<void(std::size_t)> on_worker_start = {};
    std::function<void(std::size_t)> on_worker_stop = {};
    std::optional<thread_profile> profile = std::nullopt;        ///< the profile of each worker; its name is not used
    std::optional<braid::scheduling> scheduling = std::nullopt;  ///< overrides the profile's scheduling
    std::optional<cpu_set> affinity = std::nullopt;              ///< overrides the profile's affinity
    worker_placement placement = worker_placement::anywhere;     ///< placement on these CPUs, or on all allowed CPUs
    refusal on_refused = refusal::ignore;                        ///< what happens if the system refuses a setting
    std::optional<worker_registration> registration = std::nullopt;
    /// The maximum number of spare threads. When a job blocks on a future, a spare thread continues with the other jobs
    /// of that job's worker, so that no job runs on top of the blocked job. At most one idle spare thread per worker is
    /// kept. Spare threads are called name-N, … after the N workers, and have the same settings, hooks and
    /// registration. There are no spare threads if `make_driver` is set.
    unsigned max_spare_threads = 64;
    /// The time for which a worker without work polls before it sleeps. Polling avoids a wake, which takes about five
    /// microseconds. The time is 0 if the process has only one CPU.
    duration stay_awake = 10us;
    /// A function that creates the driver of the worker with the given index. A worker without work sleeps in its
    /// driver. The default is a `parking_driver`.
    std::function<std::unique_ptr<driver>(std::size_t)> make_driver = {};
  };

  /// The totals of all workers of a pool since its start.
  struct totals {
    std::uint64_t jobs = 0;            ///< the number of jobs that have begun
    std::uint64_t steals = 0;          ///< the number of times that a worker has stolen jobs from another worker
    std::uint64_t sleeps = 0;          ///< the number of times that a worker has fallen asleep
    std::uint64_t wakes = 0;           ///< the number of times that a worker has woken another worker
    std::uint64_t forks = 0;           ///< the number of stolen forks that workers have run
    std::uint64_t lost_exchanges = 0;  ///< the number of times that a worker has lost a race for a queue
    std::uint64_t heavy_barriers = 0;  ///< the number of interruptions of the processors (membarrier)
    std::uint64_t late = 0;            ///< the number of functions that ended after their waiter had given up
    std::uint64_t spare_threads = 0;   ///< the number of spare threads that were started for blocked workers
  };

  /// Starts the workers. Blocks: until the workers have their names and settings, and are registered.
  /// Errors: std::system_error if a thread cannot be started, or if the system refuses a setting that may not be
  /// ignored; std::bad_alloc. After an error, no thread is left.
  explicit pool(options options);
  pool() : pool(options()) {}
  ~pool() override;

  /// Queues the job. This cannot fail for lack of memory: if an inbox cannot grow, the job goes to the queue of
  /// priority `high`.
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override { return try_post(work, priority::normal); }
  [[nodiscard]] auto try_post(job& work, priority level) noexcept -> bool;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto run_one() noexcept -> bool override;

  /// Returns the token that is stopped by `stop_now`, and by a `shutdown_for` that reaches its limit. The destructor
  /// requests no stop.
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return stop_.get_token(); }
  void ran_late() noexcept override { late_.fetch_add(1, relaxed); }
  void report(std::exception_ptr error) noexcept override;

  /// Posts `fn` as the free function `post` does. Errors: errc::closed (`fn` has then been destroyed without being
  /// called); std::bad_alloc.
  template <detail::job_function Fn>
  [[nodiscard]] auto post_callable(Fn&& fn) -> result<void>;

  /// Returns the number of workers.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return options_.workers; }

  /// Returns the totals of all workers. While jobs run, the numbers are approximate.
  [[nodiscard]] auto statistics() const noexcept -> totals;

  /// Returns, for each worker, whether its name and its settings could be applied.
  [[nodiscard]] auto settings_reports() const noexcept -> std::span<const settings_report> { return reports_; }

  /// Blocks until no job is queued or running. All captures of jobs that ran have been destroyed by then.
  /// Errors: would_deadlock on a worker of this pool.
  [[nodiscard]] auto wait_idle() -> result<void>;

  /// Refuses new jobs, runs or drops pending jobs according to `mode`, and joins the workers. You may call it several
  /// times and from several threads: every call returns after the workers have stopped.
  /// Errors: would_deadlock on a worker of this pool, which stays usable.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Shuts down as `shutdown` with the mode `drain` does, but waits at most `limit`. After that time, pending jobs are
  /// dropped, a stop is requested, and the call returns while the last jobs still run. The destructor, or another
  /// shutdown, waits for them. When this returns, each accepted job has run, is running, or has been dropped.
  /// Errors: deadline_exceeded if the jobs did not end within `limit`; would_deadlock on a worker of this pool.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 protected:
  /// Constructs a pool whose scheduler is created by `make`.
  pool(options options, detail::scheduler_factory make);

 private:
  template <scheduling_policy Policy>
  friend class detail::scheduler_for;
  friend struct detail::metrics_reader;

  template <detail::job_function Fn>
  [[nodiscard]] auto post_own(worker& self, Fn&& fn) -> result<void>;
  template <detail::job_function Fn>
  [[nodiscard]] auto post_to(worker& target, Fn&& fn) -> result<void>;
  template <detail::job_function Fn>
  [[nodiscard]] auto post_recorded_to(worker& target, Fn&& fn) -> result<void>;
  void record_post(job& work) noexcept {
    detail::trace_post(&work);
    job_times_.posted(work);
  }

  void make_workers();
  void start_threads();
  void await_settings();
  void work(worker& self) noexcept;
  void spare_thread(std::size_t number, const std::function<void()>& serve) noexcept;
  auto configure(std::size_t index) noexcept -> std::unique_ptr<registration>;
  void stop_and_join() noexcept;
  void drop_pending() noexcept;
  void await_drops() noexcept;
  [[nodiscard]] auto ends_by(time_point deadline) noexcept -> bool;
  void call_hook(const std::function<void(std::size_t)>& hook, std::size_t index) noexcept;

  /// Returns the calling thread's worker of this pool, or null if the thread is not such a worker.
  [[nodiscard]] auto poster() const noexcept -> worker* {
    worker* const self = detail::worker_of_thread;
    return self != nullptr && self->pool == this ? self : nullptr;
  }

  const options options_;
  const std::uint32_t looks_before_sleep_;
  const std::unique_ptr<detail::asymmetric_barrier>
      barrier_;  // allocated separately, because a pool may be in a coroutine's frame
  worker_list workers_;
  std::unique_ptr<detail::sleepers> sleepers_;
  std::unique_ptr<detail::fork_exchange> forks_;
  std::unique_ptr<detail::scheduler_base> scheduler_;
  std::unique_ptr<detail::spare_threads>
      spare_threads_;                             // null if no thread can take over a worker, or if the maximum is 0
  const atomic<worker*>* busy_worker_ = nullptr;  // provided by the scheduler; saves a virtual call in each remote post
  detail::local_queues* own_queues_ = nullptr;    // provided by the scheduler; saves virtual calls in posts of workers
  std::vector<settings_report> reports_;          // each written by its worker, before `configured_`
  std::latch configured_;
  atomic<bool> configuration_failed_{false};  // set by the first worker whose settings could not be applied
  std::exception_ptr not_configured_;         // the reason; written by that worker, before `configured_`
  std::stop_source stop_;
  std::mutex join_mutex_;  // held by the thread that joins; others wait for it
  std::vector<std::thread> threads_;
  atomic<std::uint32_t> at_work_;  // the number of workers that still have work; each subtracts itself at its end
  atomic<std::uint64_t> late_{0};  // jobs that ended late; written by the threads that ran them
  atomic<std::uint32_t> dropping_{
      0};  // the number of threads in `drop_pending`, each of which may be about to drop a job
  detail::job_times job_times_;
};

/// Posts `fn` to run once on `pool` at some later time, like the general `post`. On a thread that is not a worker,
/// captures of up to 56 bytes are stored in the inbox of a worker, without an allocation.
/// Threads, errors: the same as for the general `post`.
template <detail::job_function Fn>
[[nodiscard]] auto post(pool& pool, Fn&& fn) -> result<void> {
  return pool.post_callable(std::forward<Fn>(fn));
}

template <detail::job_function Fn>
auto pool::post_callable(Fn&& fn) -> result<void> {
  worker* const self = poster();
  if (self != nullptr && own_queues_ != nullptr) return post_own(*self, std::forward<Fn>(fn));
  worker* const target =
      self == nullptr && busy_worker_ != nullptr ? busy_worker_->load(relaxed) : scheduler_->worker_for(self);
  if (target == nullptr || target == self) return post(static_cast<executor&>(*this), std::forward<Fn>(fn));
  if (detail::is_traced() || detail::is_post_timed()) [[unlikely]]
    return post_recorded_to(*target, std::forward<Fn>(fn));
  return post_to(*target, std::forward<Fn>(fn));
}

/// Posts a callable to the inbox of a worker. Wakes this worker or another worker if the backlog is long enough.
template <detail::job_function Fn>
auto pool::post_to(worker& target, Fn&& fn) -> result<void> {
  if (target.box.post(std::forward<Fn>(fn)) != detail::post_outcome::posted) return fail(errc::closed);
  sleepers_->wake_for(detail::placed_at(target));
  return {};
}

/// Posts a callable as a job, if jobs are traced or if this post is timed. This is necessary, because traces and timing
/// identify each job by its address. The job goes to the same inbox as a callable would.
template <detail::job_function Fn>
auto pool::post_recorded_to(worker& target, Fn&& fn) -> result<void> {
  struct recorded {
    detail::closure_job<std::decay_t<Fn>>* work;
    bool is_posted = false;
    ~recorded() {
      if (is_posted) return;
      detail::job_times::refused(*work);
      work->discard();
    }
  } made{.work = &detail::make_job(std::forward<Fn>(fn))};
  record_post(*made.work);
  result<void> posted = post_to(target, detail::posted_job{made.work});
  made.is_posted = posted.has_value();
  return posted;
}

/// Posts a job from a worker to the worker's own context.
template <detail::job_function Fn>
auto pool::post_own(worker& self, Fn&& fn) -> result<void> {
  auto& work = detail::make_job(std::forward<Fn>(fn));
  record_post(work);
  const placement placed = own_queues_->place_own(self, work);
  if (placed.how == placement::verdict::refused) {
    detail::job_times::refused(work);
    work.discard();
    return fail(errc::closed);
  }
  barrier_->light();
  sleepers_->wake_for(placed);
  return {};
}

namespace detail {

/// A job on the stack of the thread that waits for this job.
template <typename Fn>
class root_job final : public job {
 public:
  explicit root_job(Fn& fn) noexcept : job(&act), fn_(fn) {}

  [[nodiscard]] auto ended() noexcept -> end_signal& { return ended_; }
  auto take() -> decltype(auto) { return outcome_.take(); }

 private:
  static void act(job& self, action request) {
    auto& mine = static_cast<root_job&>(self);
    if (request == action::run)
      mine.outcome_.keep(mine.fn_);
    else
      mine.outcome_.fail(failure_of(errc::dropped));
    mine.ended_.set();
  }

  Fn& fn_;
  call_outcome<result_of<Fn>> outcome_;
  end_signal ended_;
};

/// Posts the job and blocks until it has ended. In an iteration of an event loop, the thread runs no other jobs during
/// the wait.
BRAID_API void run_root(executor& executor, job& root, end_signal& ended);

}  // namespace detail

/// Calls `fn()` in a job of `executor`, and returns its result. Forks, task groups and parallel algorithms inside of
/// `fn` use `executor`, too. If the caller is already in a job of `executor`, this is a plain call. References stay
/// references; other results are moved.
/// Threads: any. Blocks: until the call has ended. If the caller is a worker of another pool, the other work of the
/// caller's pool continues during the wait, as during a wait for a future. In an iteration of an event loop, the loop
/// is blocked during the wait. If `executor` is a manual_executor, the calling thread runs the jobs that are queued
/// there. Errors: exceptions of `fn`; std::system_error with errc::closed if `executor` accepts no more work, and with
/// errc::dropped if a shutdown drops the call.
template <typename Fn>
  requires std::invocable<Fn&>
auto run_in(executor& executor, Fn&& fn) -> detail::kept_result<Fn> {
  if (executor.is_current()) return fn();
  detail::root_job<std::remove_reference_t<Fn>> root(fn);
  detail::run_root(executor, root, root.ended());
  if constexpr (std::is_void_v<detail::result_of<Fn>>)
    static_cast<void>(root.take());
  else
    return root.take();
}

}  // namespace braid
