// braid/task/executors.hpp: executors other than the pool: for blocking jobs, bounded and observed ones.
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

/// A blocking pool: an executor whose jobs may block for any time. Each job gets an idle thread or a new one, so that
/// it delays neither a worker nor, up to `max_threads`, another such job. Jobs begin in the order of posts. `spawn`,
/// `then` and `offload` accept it like a pool. If all threads are in use, jobs that wait for others of the pool could
/// wait for ever, so a wait for a future of the pool on one of its threads is refused with errc::would_deadlock.
/// Threads: any, but `shutdown` and the destructor not from its own. Cost: a lock a job; a new thread some 20 µs.
class BRAID_API blocking_pool final : public executor {
 public:
  /// The maximum number of threads of a blocking pool, and how long idle ones stay.
  struct options {
    std::size_t max_threads = 64;   ///< at once; jobs beyond that wait for one of them
    duration linger = 10s;          ///< how long a thread without a job stays
    std::string name = "blocking";  ///< threads are called name-0, name-1, … in the order of their start
    error_callback on_error = {};   ///< receives what a posted job throws; without it the message goes to stderr
  };

  /// Starts no thread yet. Requires that `max_threads` is not 0.
  explicit blocking_pool(options options);
  blocking_pool() : blocking_pool(options()) {}
  /// Drains.
  ~blocking_pool() override;

  /// Returns false also if there is no thread and the system refuses to create one.
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return stop_.get_token(); }
  void ran_late() noexcept override { late_.fetch_add(1, relaxed); }
  void report(std::exception_ptr error) noexcept override;

  /// Returns the current number of threads.
  [[nodiscard]] auto threads() const -> std::size_t;

  /// Returns the number of functions that ended after their waiter had given up.
  [[nodiscard]] auto late() const noexcept -> std::uint64_t { return late_.load(relaxed); }

  /// Refuses new jobs, deals with pending ones as `mode` says, and joins the threads. May be called again, and from
  /// several threads: all return after the threads have ended.
  /// Errors: would_deadlock on a thread of this pool.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Drains as `shutdown` does, but at most for `limit`. When the time is over, pending jobs are dropped, a stop is
  /// requested, and the call returns while the last jobs still run; the destructor, or a `shutdown`, waits for them.
  /// Errors: deadline_exceeded if the time was over first; would_deadlock as `shutdown`.
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
  std::mutex join_mutex_;          // one thread joins them all
  mutable std::mutex mutex_;
  // Under mutex_:
  std::condition_variable arrived_;
  detail::intrusive_queue<job> queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;     // threads that wait for a job, those among them that were notified included
  std::size_t started_ = 0;  // ever
  std::uint64_t begun_ = 0;  // jobs
  std::size_t at_work_ = 0;  // threads that have not ended
  std::condition_variable none_at_work_;
  bool closed_ = false;
  thread_list running_;
  thread_list ended_;  // threads that ended because there were no jobs, and are still to be joined
};

/// A layer over another executor that lets a bounded number of jobs wait there. A producer that is faster than the
/// executor has to wait or to help, or its posts are refused, so memory does not fill up. `post`, `spawn` and
/// `spawn_all` accept it like a pool.
///
/// Only work that is passed to this object counts. Its consequences go to the executor itself: continuations, the
/// resumptions of a task, and posts of the executor's workers, which therefore never wait for themselves.
/// Threads: any. Blocks: `post` and `spawn` with `when_full::wait`, so do not use it on an event loop. Errors:
/// errc::full with `when_full::refuse`; errc::closed as the executor. Lifetime: within that of the executor. The
/// destructor waits until everything that was posted here has begun, or was dropped. Cost: a lock and a block of memory
/// for jobs more than the executor; a wake for each half of the room that producers wait for.
class BRAID_API bounded_executor final : public detail::executor_layer {
 public:
  /// The capacity, and what to do if it is exceeded.
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
  // Under mutex_:
  std::condition_variable room_;
  std::condition_variable none_;
  std::size_t pending_ = 0;
  std::size_t waiting_ = 0;  // threads that wait for room
  bool is_closed_ = false;   // the executor has refused a job
};

/// A layer over another executor that observes each job that is posted or spawned through it: by hooks, which may be
/// changed while jobs run, and by counters and times. Work that bypasses it has no extra cost. For a task it observes
/// the job that begins it, up to its first wait; continuations and resumptions go to the executor itself.
/// Threads: any. Lifetime: within that of the executor. The destructor waits until everything that was posted here has
/// ended. Cost: two reads of the clock, two locks and a block of memory for jobs more than the executor.
class BRAID_API observed_executor final : public detail::executor_layer {
 public:
  /// The ending of a job.
  enum class ending : std::uint8_t {
    finished,  ///< it returned
    failed,    ///< it threw
    stopped,   ///< it was left out, because a stop came first
    dropped,   ///< a shutdown dropped it
  };

  /// The information about a job for hooks.
  struct job_report {
    /// Returns the name of the function that was posted or spawned, as in a trace: `main::{lambda()#1}`.
    /// Blocks: to read the table of names, the first time for each program and library. Errors: std::bad_alloc.
    [[nodiscard]] BRAID_API auto function() const -> std::string;

    task_id id;                                                           ///< counted from 1 by its observed_executor
    job::act_fn code = nullptr;                                           ///< what `function` names
    duration queued{};                                                    ///< from its post to its beginning
    duration ran{};                                                       ///< to its end; 0 in `on_start`
    observed_executor::ending how = observed_executor::ending::finished;  ///< in `on_end`
    std::exception_ptr error = nullptr;  ///< what it threw, or was left out or dropped for
  };

  /// The functions that are called for each job; either may be empty.
  /// Threads: those of the executor, several at a time. Exceptions are reported like those of a job.
  struct hooks {
    std::function<void(const observed_executor::job_report&)> on_start =
        {};  ///< called before it runs, and not for a dropped job
    std::function<void(const observed_executor::job_report&)> on_end = {};  ///< after its result can be seen
  };

  /// The totals of an observed_executor so far.
  struct totals {
    std::uint64_t posted = 0;
    std::uint64_t refused = 0;
    std::size_t pending = 0;  ///< at the moment: accepted and not begun
    std::size_t running = 0;  ///< at the moment
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t stopped = 0;
    std::uint64_t dropped = 0;
    duration queued{};  ///< of all that have begun, together; divide by their number
    duration ran{};
    duration max_queued{};
    duration max_ran{};
  };

  /// `clock` outlives it.
  observed_executor(executor& over, hooks calls, const clock_source& clock = steady_time());
  explicit observed_executor(executor& over) : observed_executor(over, hooks()) {}
  ~observed_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;

  /// Replaces the hooks that jobs call when they begin or end. Calls of the former hooks may still be running. Errors:
  /// std::bad_alloc.
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
  // Under mutex_:
  shared_hooks hooks_;
  totals counts_;
  std::size_t inside_ = 0;  // jobs that may still use this object
  std::condition_variable none_;
};

}  // namespace braid
