// braid/coro/serial_executor.hpp: a serial executor on top of another executor: a home for tasks, like a Swift actor's
// executor.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/strand_queue.hpp>
#include <braid/task/detail/drain_limit.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>

namespace braid {

namespace detail {

/// The job with which the underlying executor drains the queue of a serial executor.
struct drain_step : job {
  using job::job;
};

}  // namespace detail

/// A serial executor over another executor. Its jobs and tasks run one at a time, on any free worker, in the order in
/// which they were posted. Each job observes all writes of earlier jobs. So no lock is needed for data that only its
/// jobs and tasks use, or for the timers, scopes and events of the tasks. No lock is held while a job runs. A job that
/// blocks on another job of the same serial executor would wait for ever, so the wait fails with an error; a task can
/// await the other job instead. Tasks that should run at the same time need separate homes, which are cheap;
/// `spawn(pool, task)` creates one for each task.
///
/// The underlying executor may refuse a drain of this queue, drop it, or be destroyed. In these cases no job or task
/// waits for ever: waiting jobs are dropped or run by a drain that is in progress, and the tasks are stopped. The
/// remaining code of the tasks runs on the thread that was notified of the refusal. From then on `try_post` refuses all
/// jobs. The same happens if memory for the first timer cannot be allocated, because the sleeping task could not be
/// woken.
/// Threads: any thread may create the executor and call `try_post`, `post_resumption` and `is_current`; only tasks of
/// this home may call the other functions. Cost: 296 bytes; a compare-exchange for each job and step; a post to the
/// underlying executor if this executor was idle. Lifetime: timers that are passed to this executor must outlive it.
/// Protocol: docs/design/serial_executor.md
class BRAID_API serial_executor final : public home, private detail::drain_step {
 public:
  // The limits of one drain of the queue. When a drain has reached a limit, other work of the underlying executor runs
  // before the next drain.
  static constexpr std::size_t max_consecutive = detail::drain_limit::max_consecutive;  ///< jobs and steps of tasks
  static constexpr duration max_drain = detail::drain_limit::max_time;                  ///< not all jobs are measured

  /// Constructs an executor on top of `target`. A timer thread, which the process starts at the first sleep, wakes
  /// tasks that sleep.
  explicit serial_executor(executor& target);
  /// Constructs an executor that uses `timers` for sleeps. The timers must exist as long as this executor has tasks.
  /// Errors: std::bad_alloc.
  serial_executor(executor& target, detail::shared_timers& timers);
  /// Waits for the jobs that were posted before, and stops the tasks.
  /// Blocks: until all jobs and tasks have ended; a worker runs other work of its pool during the wait. Do not destroy
  /// the executor from its own jobs or tasks.
  ~serial_executor() override;

  static auto operator new(std::size_t size) -> void* { return detail::allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { detail::free_job(block, size); }

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  void post_resumption(job& step) noexcept override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto root() noexcept -> scope& override {
    return purpose_ != purpose::own_task ? first_ : root_beside_task();
  }
  [[nodiscard]] auto needs_polls() const noexcept -> bool override;
  [[nodiscard]] auto poll() noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override;
  void report(std::exception_ptr error) noexcept override;

  void arm(timer& item, time_point time) noexcept override;
  void disarm(timer& item) noexcept override;
  [[nodiscard]] auto now() const noexcept -> time_point override;

  /// Runs the task `first` in the root scope of a new home on `executor`. The home is destroyed when no task is left in
  /// it. Returns false if `executor` refuses; `first` was then destroyed without having started. `first` is also
  /// destroyed if `executor` drops it later.
  /// Errors: std::bad_alloc; if memory for the home itself cannot be allocated, `executor` reports the error.
  [[nodiscard]] static auto run_alone(executor& executor, task<void> first) -> bool;

  /// Calls `begin(own, context)` on a new home, within a job that `executor` runs on this thread, and runs the first
  /// drain of the home before it returns. `own` is the scope of the task that `begin` begins, and not the root scope of
  /// the home. When the task ends and does not use the scope any more, it calls `task_has_left`. Errors:
  /// std::bad_alloc; in this case, `begin` was not called.
  using begin_fn = void (*)(scope& own, void* context) noexcept;
  static void run_task_here(executor& executor, begin_fn begin, void* context);
  void task_has_left() noexcept;

 private:
  /// The way in which a home is used. A home that was created for one task deletes itself when the task has ended.
  enum class purpose : std::uint8_t {
    many_tasks,
    root_task,  // the first task runs in the root scope
    own_task,   // the first task has a scope of its own
  };
  struct first_step;
  struct last_step;
  /// The timer state, which exists once a task has slept. It consists of the timer that wakes the home, and the job
  /// `tick`, which fires the timers that are due.
  struct timer_state : droppable_timer, job {
    timer_state(serial_executor& h, detail::shared_timers* timers) noexcept;

    serial_executor* owner;
    detail::shared_timers* service;  // null until a timer is armed, unless timers were passed
    timer_wheel wheel;
    intrusive_list<timer> due;
    time_point armed_until = time_point::max();
    atomic<bool> ticking{false};  // `tick` is queued; set by the thread that queues it, cleared by the job
  };

  serial_executor(executor& executor, purpose purpose);

  [[nodiscard]] auto ask(job& question) noexcept -> detail::asked override;
  void run_asked() noexcept override;
  [[nodiscard]] auto runs_on(detail::executor_id id) const noexcept -> bool override { return executor_ == id; }

  static void drain_due(job& self, job::action action);
  static void ticked(job& self, job::action action);
  static void wake_timer_fired(timer& self) noexcept;
  static auto no_task_left(void* self) noexcept -> std::coroutine_handle<>;
  static void run_first(executor& executor, purpose purpose, begin_fn begin, void* context);

  enum class after_drain : std::uint8_t { leave, end };

  void drain() noexcept;
  void drop_drain() noexcept;
  auto run_drain() noexcept -> after_drain;
  template <typename Fn>
  auto run_steps(Fn& is_over) noexcept -> after_drain;
  auto repost_drain() noexcept -> bool;
  void run(job& work) noexcept;
  void post_tick() noexcept;
  void arm_wake_timer() noexcept;
  void disarm_wake_timer() noexcept;
  void await_idle() noexcept;
  auto root_beside_task() noexcept -> scope&;
  void stop_tasks() noexcept;
  [[nodiscard]] auto has_tasks() const noexcept -> bool;
  [[nodiscard]] auto has_service() noexcept -> bool;

  const detail::executor_id executor_;
  detail::strand_queue<job> queue_;
  // Except for the two atomics, the following members belong to the thread that currently drains the queue.
  detail::intrusive_queue<job> ready_;        // jobs that were taken from the queue
  std::unique_ptr<timer_state> timer_state_;  // created for the first sleep, unless timers were passed
  const purpose purpose_;
  bool drops_jobs_ = false;  // the executor no longer runs the jobs
  bool is_retired_ = false;  // posts by the id no longer arrive here
  detail::drain_limit length_;
  atomic<bool> refused_{false};  // the executor refuses, or there is no memory; written by the refused thread
  atomic<bool> ended_{false};    // no task is left, and none can begin; written by the home's thread
  scope first_;                  // the root scope, or the scope of a first task that has its own scope
  std::unique_ptr<scope> root_;  // the root scope in the second case, created by the first call of `root`
};

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer
static_assert(sizeof(serial_executor) <= 296,
              "a serial_executor must stay small, because each task that is spawned on a pool has one");
#endif

}  // namespace braid
