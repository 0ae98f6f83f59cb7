// braid/task/executors.hpp: further executors: for blocking jobs, with a limit on the number of waiting jobs, or with
// hooks that observe jobs.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_layer.hpp>
#include <braid/task/detail/job_times.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace braid {

namespace detail {
struct metrics_reader;
}

/// A blocking pool: an executor whose jobs may block for any time. Each job runs on an idle thread or on a new thread.
/// So a job delays no worker and, as long as fewer than `max_threads` jobs run, no other blocking job. Jobs begin in
/// the order in which they were posted. `spawn`, `then` and `offload` accept it like a pool. If all threads are in use,
/// jobs that wait for other jobs of the pool could wait for ever. Therefore, a thread of the pool must not wait for a
/// future of the same pool: the wait is refused with errc::would_deadlock.
/// Threads: any, except that threads of the pool must not call `shutdown` and the destructor. Cost: a lock for each
/// job; a new thread takes about 20 µs.
class BRAID_API blocking_pool final : public executor {
 public:
  /// The options of a blocking pool: the maximum number of threads, and how long idle threads stay.
  struct options {
    std::size_t max_threads = 64;   ///< the maximum number of threads at a time; further jobs wait for a thread
    duration linger = 10s;          ///< how long a thread without a job stays
    std::string name = "blocking";  ///< threads are called name-0, name-1, … in the order of their start
    error_callback on_error = {};   ///< receives exceptions of posted jobs; without it the message goes to stderr
  };

  /// Constructs the pool. No thread is started yet. Requires that `max_threads` is not 0.
  explicit blocking_pool(options options);
  blocking_pool() : blocking_pool(options()) {}
  /// Shuts down with `shutdown_mode::drain`: runs the queued jobs and joins the threads.
  ~blocking_pool() override;

  /// Queues the job. Also returns false if the pool has no thread and the system refuses to create a thread.
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return stop_.get_token(); }
  void ran_late() noexcept override { late_.fetch_add(1, relaxed); }
  void report(std::exception_ptr error) noexcept override;

  /// Returns the current number of threads.
  [[nodiscard]] auto threads() const -> std::size_t;

  /// Returns the number of functions that ended late, after the code that waited for them had given up.
  [[nodiscard]] auto late() const noexcept -> std::uint64_t { return late_.load(relaxed); }

  /// Refuses new jobs, runs or drops pending jobs according to `mode`, and joins the threads. You may call it several
  /// times and from several threads: every call returns after the threads have ended.
  /// Errors: would_deadlock on a thread of this pool.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Shuts down as `shutdown` with the mode `drain` does, but waits at most `limit`. After that time, pending jobs are
  /// dropped, a stop is requested, and the call returns while the last jobs still run. The destructor, or a later
  /// `shutdown`, waits for them. Errors: deadline_exceeded if the jobs did not end within `limit`; would_deadlock on a
  /// thread of this pool.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 private:
  friend struct detail::metrics_reader;
  using thread_list = std::list<std::thread>;

  void start_thread();
  void work(thread_list::iterator self, std::size_t number) noexcept;
  void run(job& work) noexcept;
  [[nodiscard]] auto next(std::unique_lock<std::mutex>& lock) -> job*;
  void drop_all();

  const options options_;
  detail::job_times job_times_;
  std::stop_source stop_;
  atomic<std::uint64_t> late_{0};  // written by its threads
  std::mutex join_mutex_;          // held by the thread that joins all threads
  mutable std::mutex mutex_;
  // The following members are guarded by mutex_.
  std::condition_variable arrived_;
  detail::intrusive_queue<job> queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;     // threads that wait for a job, including those that were notified
  std::size_t started_ = 0;  // the number of threads that have been started
  std::uint64_t begun_ = 0;  // the number of jobs that have begun
  std::size_t at_work_ = 0;  // threads that have not ended
  std::condition_variable none_at_work_;
  bool closed_ = false;
  thread_list running_;
  thread_list ended_;  // threads that ended because there were no jobs, and are still to be joined
};

/// A layer over another executor that limits the number of waiting jobs. If a producer is faster than the executor, the
/// producer must wait or run jobs itself, or its posts are refused. So memory does not fill up. You can pass the layer
/// to `post`, `spawn` and `spawn_all` like a pool.
///
/// Only work that is posted to this object counts. Follow-up work goes directly to the executor: continuations,
/// resumptions of tasks, and posts of the executor's workers. So the executor's workers never wait for free capacity
/// that only they can provide.
/// Threads: any. Blocks: with `when_full::wait`, `post` and `spawn` block, so do not use that option on an event loop.
/// Errors: errc::full with `when_full::refuse`; errc::closed if the executor is closed. Lifetime: the executor must
/// outlive the layer. The destructor waits until everything that was posted here has begun, or was dropped. Cost, in
/// addition to that of the executor: a lock and a block of memory for jobs; the waiting producers are woken each time
/// half of the capacity has become free.
class BRAID_API bounded_executor final : public detail::executor_layer {
 public:
  /// The options of a bounded executor: its capacity, and what happens when the capacity is reached.
  struct options {
    std::size_t capacity = 1024;  ///< jobs that were posted here and have not begun; not 0
    when_full full = when_full::wait;
  };

  bounded_executor(executor& over, options options);
  explicit bounded_executor(executor& over) : bounded_executor(over, options()) {}
  ~bounded_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto why_refused() const noexcept -> errc override;

  /// Returns the number of jobs that were posted here and have not begun.
  [[nodiscard]] auto pending() const -> std::size_t;

 private:
  class counted_job;
  class wait_for_room;
  class wait_for_none;
  enum class entry { counted, refused, caller_runs };

  auto enter() noexcept -> entry;
  void leave() noexcept;
  [[nodiscard]] auto has_room() const noexcept -> bool { return pending_ < options_.capacity; }  // under mutex_

  const options options_;
  mutable std::mutex mutex_;
  // The following members are guarded by mutex_.
  std::condition_variable room_;
  std::condition_variable none_;
  std::size_t pending_ = 0;
  std::size_t waiting_ = 0;  // threads that wait for room
  bool is_closed_ = false;   // the executor has refused a job
};

/// A layer over another executor that observes each job that is posted or spawned through it. It has hooks, which may
/// be changed while jobs run, and counts and times the jobs. Work that bypasses the layer has no extra cost. For a
/// task, the layer observes only the job that begins the task, up to the task's first wait. Continuations and
/// resumptions go directly to the executor. Threads: any. Lifetime: the executor must outlive the layer. The destructor
/// waits until everything that was posted here has ended. Cost, in addition to that of the executor: two reads of the
/// clock, two locks and a block of memory for jobs.
class BRAID_API observed_executor final : public detail::executor_layer {
 public:
  /// The way in which a job has ended.
  enum class ending : std::uint8_t {
    finished,  ///< it returned
    failed,    ///< it threw
    stopped,   ///< it was skipped, because a stop came first
    dropped,   ///< a shutdown dropped it
  };

  /// The information about a job that hooks receive.
  struct job_report {
    /// Returns the name of the function that was posted or spawned, as in a trace: `main::{lambda()#1}`.
    /// Blocks: while it reads the symbol table, once for each program and library. Errors: std::bad_alloc.
    [[nodiscard]] BRAID_API auto function() const -> std::string;

    task_id id;                  ///< counted from 1 by its observed_executor
    job::act_fn code = nullptr;  ///< the code that `function` names
    duration queued{};           ///< the time from its post to its beginning
    duration ran{};              ///< the time from its beginning to its end; 0 in `on_start`
    observed_executor::ending how = observed_executor::ending::finished;  ///< how it ended; valid in `on_end`
    std::exception_ptr error = nullptr;  ///< the exception that it threw, or for which it was skipped or dropped
  };

  /// The functions that are called for each job. Each of them may be empty. Exceptions that they throw are reported
  /// like exceptions of a job. Threads: threads of the executor call them, several at a time.
  struct hooks {
    std::function<void(const observed_executor::job_report&)> on_start =
        {};  ///< called before it runs, and not for a dropped job
    std::function<void(const observed_executor::job_report&)> on_end = {};  ///< after its result can be seen
  };

  /// The totals of an observed_executor since its construction.
  struct totals {
    std::uint64_t posted = 0;
    std::uint64_t refused = 0;
    std::size_t pending = 0;  ///< jobs that are accepted and have not begun
    std::size_t running = 0;  ///< jobs that are running
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t stopped = 0;
    std::uint64_t dropped = 0;
    duration queued{};  ///< the sum for all jobs that have begun; divide this by their number to get the average
    duration ran{};
    duration max_queued{};
    duration max_ran{};
  };

  /// Constructs the layer. `clock` must outlive the layer.
  observed_executor(executor& over, hooks calls, const clock_source& clock = steady_time());
  explicit observed_executor(executor& over) : observed_executor(over, hooks()) {}
  ~observed_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;

  /// Replaces the hooks for later events. Calls of the old hooks may still be running. Errors: std::bad_alloc.
  void set_hooks(hooks hooks);

  [[nodiscard]] auto counts() const -> totals;

 private:
  class seen_job;
  class wait_for_all;
  using shared_hooks = std::shared_ptr<const hooks>;

  void begin(const job_report& report) noexcept;
  void end(job_report report, duration ran, ending ending, const std::exception_ptr& error) noexcept;
  auto count_of(ending ending) noexcept -> std::uint64_t&;  // under mutex_
  void call(const std::function<void(const job_report&)>& hook, const job_report& report) noexcept;

  const clock_source& clock_;
  atomic<std::uint64_t> next_id_{1};
  mutable std::mutex mutex_;
  // The following members are guarded by mutex_.
  shared_hooks hooks_;
  totals counts_;
  std::size_t inside_ = 0;  // jobs that may still use this object
  std::condition_variable none_;
};

}  // namespace braid
