// braid/task/worker.hpp: a worker of a pool, and the drivers in which workers sleep.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/contention.hpp>
#include <braid/sync/detail/inbox.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/sync/detail/run_queue.hpp>
#include <braid/sync/detail/split_deque.hpp>
#include <braid/task/detail/fork_pace.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/job_pace.hpp>
#include <braid/task/job.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace braid {

/// The reason why a sleeping worker was woken.
enum class wake_reason : std::uint8_t {
  permit,    ///< it has consumed a permit
  work,      ///< its driver has work
  deadline,  ///< the deadline has passed
};

/// A driver: the object in which one worker sleeps until it gets a permit. Several permits count as one permit. A pool
/// that only computes uses parkers; a worker that also waits for I/O sleeps in its event loop. Threads: the worker.
/// Other threads may call only `unpark`.
class BRAID_API driver {
 public:
  driver() = default;
  driver(const driver&) = delete;
  auto operator=(const driver&) -> driver& = delete;
  virtual ~driver();

  /// Blocks until a permit is available, and consumes it.
  virtual void park() noexcept = 0;

  /// Parks as `park` does, but returns false at `deadline`. Returns true if it consumed a permit.
  [[nodiscard]] virtual auto park_until(time_point deadline) noexcept -> bool = 0;

  /// Makes a permit available.
  virtual void unpark() noexcept = 0;

  /// Checks for ready events without blocking. Called by a busy worker between two jobs, at least every 64 jobs and
  /// after each job of more than ten microseconds.
  virtual void poll() noexcept {}

  // --- Functions for drivers that have their own work, such as the tasks of an event loop. ---

  /// Returns whether the driver is of a kind that has its own work. If so, jobs of the worker must not block to wait
  /// for other threads.
  [[nodiscard]] virtual auto has_own_work() const noexcept -> bool { return false; }

  /// Sleeps as `park_until` does, but also returns if the driver has something to do. This function does not call
  /// `work`, because other threads consider the worker asleep during this call. The caller calls `work` when the worker
  /// counts as busy again.
  [[nodiscard]] virtual auto sleep_until(time_point deadline) noexcept -> wake_reason;

  /// Returns whether a call of `work` would find something to do.
  [[nodiscard]] virtual auto is_ready() noexcept -> bool { return false; }

  /// Returns whether `work` should be called now. A busy worker calls this function between two jobs: after the first
  /// job that follows a call of `work`, then less and less often, but at least once in eight jobs.
  [[nodiscard]] virtual auto is_due() noexcept -> bool { return false; }

  /// Runs the available work of the driver, without blocking and for a bounded time. Called between two jobs by a
  /// worker that counts as busy.
  virtual void work() noexcept {}
};

/// The driver of workers that do not wait for I/O.
class parking_driver final : public driver {
 public:
  void park() noexcept override { parker_.park(); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override { return parker_.park_until(deadline); }
  void unpark() noexcept override { parker_.unpark(); }

 private:
  detail::parker parker_;
};

/// The busy-polling driver, for workers that never sleep. It polls for its permit, and yields the CPU between polls. A
/// wake takes only one store, and reaches the worker within about a microsecond. Cost: a core for each worker.
class polling_driver final : public driver {
 public:
  void park() noexcept override { static_cast<void>(park_until(time_point::max())); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override {
    while (permit_.load(relaxed) == 0) {
      if (steady_time().now() >= deadline) return false;
      std::this_thread::yield();
    }
    return permit_.exchange(0, acquire) != 0;  // edge polling_driver.permit: observe; no other thread takes it
  }
  void unpark() noexcept override { permit_.store(1, release); }  // edge polling_driver.permit: publish the job

 private:
  atomic<std::uint32_t> permit_{0};  // 1 while a permit is available
};

class executor;

namespace detail {
class fork_exchange;
class spare_threads;

/// The counters of a worker. Only the worker writes them; any thread may read them.
struct worker_counters {
  atomic<std::uint64_t> jobs{0};          ///< the number of jobs that have begun
  atomic<std::uint64_t> steals{0};        ///< the number of times that it has stolen jobs from another worker
  atomic<std::uint64_t> sleeps{0};        ///< the number of times that it has fallen asleep
  atomic<std::uint64_t> wakes_of_own{0};  ///< the number of times that it has woken another worker
  atomic<std::uint64_t> forks_stolen{0};  ///< the number of stolen forks that it has run
  contention_counts contention;           ///< the cost of accesses to words that other threads access, too
};

/// The counters by which a worker ensures that no queue starves another queue. Threads: the worker.
struct worker_fairness {
  std::uint32_t until_fair = 1;        ///< the number of searches for work until the next fair one
  std::uint32_t until_low = 1;         ///< the number of fair searches until one begins with priority `low`
  std::uint32_t consecutive_next = 0;  ///< the number of consecutive runs of the next job ahead of others
  std::uint32_t consecutive_high = 0;  ///< the number of consecutive jobs of priority `high` ahead of others
  time_point remote_slice_ended;       ///< when the last time slice for remote jobs ended
  /// True if remote jobs get the next time slice, after the current job, because the worker's own jobs have had their
  /// time slice.
  bool remote_slice_due = false;
};

/// The state of a worker's search for work, and of its duties to other workers. Threads: the worker.
struct worker_idle {
  // docs/design/constants.md says what this value rests on.
  static constexpr std::uint32_t max_backoff = 64;  ///< pauses of the processor: about a microsecond

  std::uint32_t since_look = 0;            ///< the number of posted jobs that it has run since its last poll
  std::uint32_t backoff = max_backoff;     ///< the processor pauses between its last job and the next poll
  std::uint64_t begun_before_backoff = 0;  ///< the number of jobs that it had begun at its last back-off
  bool should_wake_peer = false;           ///< set by the scheduler if others may find work here; cleared by the pool
  bool is_relied_on = false;               ///< posts may have relied on it since it last checked for more work
  time_point monitor_due;                  ///< when it next checks for delayed jobs as the monitor; or unset
  std::vector<std::uint64_t> seen;         ///< the number of jobs that each other worker had begun at the last check
};

/// The state of a worker's forks, both its own and stolen ones. Threads: the worker.
struct worker_forks {
  std::uint32_t helps = 0;    ///< the number of nested stolen forks that it runs
  fork_pace pace;             ///< whether its forks are short
  bool leaves_forks = false;  ///< set by a task_group: forks may be left at the end of the job
};

}  // namespace detail

/// A worker: a thread that runs the jobs of one pool, together with its queues. The object exists as long as the pool.
struct alignas(cache_line) worker {
  /// Constructs a worker. The workers of a pool share `barrier`, which must outlive them.
  BRAID_API worker(executor& owner, std::size_t number, detail::asymmetric_barrier& barrier,
                   const clock_source& clock = steady_time(),
                   std::unique_ptr<driver> sleeps_in = std::make_unique<parking_driver>());

  // The following members are read by other threads with each post.
  executor* const pool;                 ///< the pool whose jobs this worker runs
  const std::size_t index;              ///< the index within its pool, from 0
  const std::unique_ptr<driver> sleep;  ///< the driver in which it blocks when it has no work
  const bool has_own_work;              ///< the driver has work of its own, which is done between jobs
  std::vector<std::size_t> victims;     ///< the other workers, the nearest first; written before its thread starts
  /// The fork exchange of the pool. Written before the worker's thread starts; null without a pool.
  detail::fork_exchange* exchange = nullptr;
  detail::spare_threads* spares =
      nullptr;  ///< the spare threads of its pool; null if no other thread can take over the worker context

  // The following members are used only by the worker, and are on separate cache lines.
  alignas(cache_line) detail::worker_fairness fairness;
  detail::worker_idle idle;
  detail::worker_forks forking;
  std::uint32_t between_own_work = 1;  ///< the number of jobs before it polls its driver again
  std::uint32_t absent = 0;            ///< threads that have left this context and will return; written by its owner
  atomic<std::uint32_t> wanted{0};     ///< threads that want it back; written under the lock of spare_threads
  atomic<::pid_t> thread{0};           ///< the thread that owns this worker context; written by it; 0: not known
  detail::worker_counters counters;

  detail::job_pace pace;
  detail::run_queue<job> queue;  ///< jobs that it has posted itself
  detail::inbox<> box;           ///< callables that other threads have posted
  const std::shared_ptr<detail::inbox<>::producer>
      own_producer;  ///< its own producer into its inbox, for callables that it takes from other inboxes

  // docs/design/constants.md says what this value rests on.
  static constexpr std::size_t first_forks = 256;  ///< the initial number of forks for which the deque has room
  static constexpr std::size_t max_forks = detail::split_deque<detail::fork_record>::capacity_limit;
  detail::split_deque<detail::fork_record> forks;  ///< forked by the job that runs

  /// Returns the approximate number of queued jobs.
  /// Threads: any.
  [[nodiscard]] auto backlog() const noexcept -> std::size_t { return queue.approximate_size() + box.size(); }

  /// Returns whether one more fork would be useless: thieves do not request forks at the moment, and the deque contains
  /// enough older forks for them.
  /// Threads: the worker.
  [[nodiscard]] auto has_enough_forks() const noexcept -> bool { return forks.has_private(forking.pace.enough()); }

  /// Returns whether one more fork of a parallel loop would be useless. Such a fork is half of the remaining loop, so
  /// one fork in the deque is enough. Threads: the worker.
  [[nodiscard]] auto has_fork_at_hand() const noexcept -> bool {
    return forks.has_private(forking.pace.enough_of_a_loop());
  }
};

/// The workers of a pool, by index.
using worker_list = std::vector<std::unique_ptr<worker>>;

namespace detail {

/// Returns the worker of the calling thread, or null. It is not inlined, because the compiler must not reuse the result
/// after a suspension that may change the thread. Threads: any.
[[nodiscard]] BRAID_API auto current_worker() noexcept -> worker*;

/// Returns whether the calling thread also waits for I/O. That is the case in an iteration of an event loop, and on a
/// worker that has an event loop. If such a thread blocked, its event loop would also block. Then the wait might never
/// end, because it may depend on that loop. Therefore, waits for futures and tasks are refused on such threads with
/// errc::would_deadlock.
/// Threads: any.
[[nodiscard]] BRAID_API auto waits_for_io() noexcept -> bool;

/// The worker of the calling thread, or null. Code may read this variable directly, with one load, if it does not
/// suspend between reading and using the value. Other code calls `current_worker`.
extern BRAID_API constinit thread_local worker* worker_of_thread __attribute__((tls_model("initial-exec")));

/// True if the calling thread is in an iteration of an event loop.
extern BRAID_API constinit thread_local bool thread_runs_a_loop __attribute__((tls_model("initial-exec")));

/// A guard that marks an iteration of an event loop on the calling thread. Iterations are not nested.
class loop_iteration {
 public:
  loop_iteration() noexcept { thread_runs_a_loop = true; }
  loop_iteration(const loop_iteration&) = delete;
  auto operator=(const loop_iteration&) -> loop_iteration& = delete;
  ~loop_iteration() { thread_runs_a_loop = false; }
};

/// Increments a counter that only the calling thread writes. Returns the new value.
inline auto count_one(atomic<std::uint64_t>& counter) noexcept -> std::uint64_t {
  const std::uint64_t count = counter.load(relaxed) + 1;
  counter.store(count, relaxed);
  return count;
}

/// A guard that makes the calling thread the worker `self`, or no worker if `self` is null. The destructor restores the
/// previous state.
class BRAID_API worker_scope {
 public:
  explicit worker_scope(worker* self) noexcept;
  explicit worker_scope(worker& self) noexcept : worker_scope(&self) {}
  worker_scope(const worker_scope&) = delete;
  auto operator=(const worker_scope&) -> worker_scope& = delete;
  ~worker_scope();

 private:
  worker* const outer_;
  contention_counts* const outer_counts_;
};

}  // namespace detail
}  // namespace braid
