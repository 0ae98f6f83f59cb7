// braid/task/detail/sleepers.hpp: parks idle workers, decides which worker a post wakes, and runs the monitor.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/event_count.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/idle_set.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>

namespace braid::detail {

/// The reason why a worker is awake.
enum class wake_cause : std::uint8_t {
  own,        ///< it did not sleep, because there is work
  claimed,    ///< a post or a shutdown has claimed it, and counted it as searching
  monitored,  ///< it slept for one interval of the monitor
  called,     ///< its driver has work for it
  stop,       ///< the pool stops, and no work is left
};

/// Returns whether a post may rely on a worker that woke for this reason. Such a post wakes no other worker.
constexpr auto is_relied_on(wake_cause woken) noexcept -> bool {
  return woken == wake_cause::claimed || woken == wake_cause::monitored;
}

/// Parks and unparks the workers of a pool, and counts searching workers (like Tokio's idle state and Go's spinning
/// Ms). This class asks the scheduler whether there are jobs.
/// Protocol: docs/design/pool.md
class BRAID_API sleepers {
 public:
  sleepers(const worker_list& workers, asymmetric_barrier& barrier)
      : workers_(workers), barrier_(barrier), idle_(workers.size()) {}

  // --- Functions for threads that post work. ---

  /// Wakes a worker for a queued job if necessary. Requires that the caller has called the barrier's `light` since it
  /// queued the job.
  void wake_for(const placement& placed) noexcept {
    if (idle_.none()) return;
    if (placed.how == placement::verdict::can_wait && monitoring_.load(relaxed) != 0 &&
        !idle_.is_advertised(placed.worker))
      return;
    wake_someone(placed);
  }

  /// Returns whether a worker sleeps or is about to sleep.
  [[nodiscard]] auto anybody_sleeps() const noexcept -> bool { return !idle_.none(); }

  // --- Functions for workers. ---

  /// Blocks the worker until it is needed. Returns the cause of the wake, which decides how the worker searches for
  /// work.
  auto sleep(worker& self, scheduler_base& jobs) noexcept -> wake_cause;

  /// Returns whether an idle worker that does not sleep should look for jobs that wait behind long jobs.
  [[nodiscard]] static auto is_monitor_due(worker& self) noexcept -> bool;

  /// Ends the search of a claimed worker.
  /// edge sleepers.searching: both, because a later post must see what the search has found, and this worker must see
  /// the jobs of earlier posts
  void end_search() noexcept { searching_.fetch_sub(1, acq_rel); }

  /// Wakes another worker if there are more jobs. A worker calls this when it is about to run a job. There are two
  /// reasons: posts may have woken no worker because this worker was searching, and this worker may have moved several
  /// jobs to its own context.
  void pass_on(worker& self, scheduler_base& jobs) noexcept {
    barrier_.light();  // needed after jobs were moved, as after a post
    if (!idle_.none()) call_others(self, jobs);
  }

  // --- Functions for any thread. ---

  /// Returns whether a worker that finds no work should end.
  [[nodiscard]] auto is_stopping() const noexcept -> bool { return phase_.load(relaxed) != phase::running; }

  /// Returns whether a worker has found that no work is left for idle workers.
  [[nodiscard]] auto is_quiescent() const noexcept -> bool { return phase_.load(relaxed) == phase::quiescent; }

  /// Blocks until no job is queued or running.
  void wait_idle(scheduler_base& jobs) noexcept;

  /// Makes workers that find no work end from now on. Requires that the scheduler is closed. You may call it several
  /// times, and from several threads.
  void stop(scheduler_base& jobs) noexcept;

 private:
  static constexpr duration monitor_interval = 1ms;
  enum class phase : std::uint8_t { running, stopping, quiescent };

  void wake_someone(const placement& placed) noexcept;
  void call_others(worker& self, scheduler_base& jobs) noexcept;
  auto someone_searches() noexcept -> bool;
  auto wake_one() noexcept -> bool;
  void wake(worker& claimed) noexcept;
  auto park(worker& self, scheduler_base& jobs) noexcept -> wake_cause;
  auto leave(worker& self) noexcept -> wake_cause;
  /// Wakes the threads in `wait_idle` if all workers are idle.
  void became_idle() noexcept {
    if (idle_.all()) became_idle_.notify_all();
  }
  void end_monitoring(worker& self, scheduler_base& jobs, wake_reason reason) noexcept;
  auto try_monitor(scheduler_base& jobs) noexcept -> bool;
  auto is_done(scheduler_base& jobs) noexcept -> bool;
  void try_quiesce(scheduler_base& jobs) noexcept;

  const worker_list& workers_;
  asymmetric_barrier& barrier_;
  alignas(cache_line) idle_set idle_;
  atomic<std::uint32_t> searching_{0};   // awake workers without a job; if there is one, a post need not wake another
  atomic<std::uint32_t> monitoring_{0};  // 1 while a worker sleeps with a deadline; written by that worker
  // The phase only increases. The thread that shuts down sets `stopping`; a worker that finds no work left sets
  // `quiescent`.
  atomic<phase> phase_{phase::running};
  event_count became_idle_;
};

}  // namespace braid::detail
