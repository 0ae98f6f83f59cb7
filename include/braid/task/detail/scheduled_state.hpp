// braid/task/detail/scheduled_state.hpp: work that is scheduled for a time. It is first a timer, then a job, and then a
// timer again if the work repeats.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/detail/timer_keeper.hpp>
#include <braid/task/every_options.hpp>
#include <braid/task/job.hpp>

#include <cstdint>
#include <memory>

namespace braid {

/// The outcome of `cancel`.
enum class cancellation : std::uint8_t {
  done,       ///< no run begins any more, and the captures have been destroyed
  after_run,  ///< the function runs at this moment, for the last time; the captures are destroyed when it returns
  too_late,   ///< the work had ended already, or another thread is just ending it
};

/// The current state of scheduled work, or the way in which it has ended.
enum class schedule_status : std::uint8_t {
  active,     ///< the work waits or runs, or its captures are just being destroyed
  done,       ///< the only run has ended
  cancelled,  ///< cancelled by `cancel`
  refused,    ///< the executor was closed, or no longer existed, when a run was due
  dropped,    ///< the executor or the timers were shut down and dropped the work
};

namespace detail {

/// The state of scheduled work, without its function. At any time, exactly one of the timers, the executor's queue and
/// the running worker owns the work and a reference. Each handle owns another reference. When the last reference is
/// dropped, the state is freed.
/// Protocol: docs/design/scheduled.md
class BRAID_API scheduled_state : public droppable_timer, public job {
 public:
  scheduled_state(executor_id executor, std::shared_ptr<timer_keeper> keeper, tick_rule rule) noexcept;
  scheduled_state(const scheduled_state&) = delete;
  auto operator=(const scheduled_state&) -> scheduled_state& = delete;

  /// Schedules the first run, and keeps a second reference for the caller. Returns false if the timers are closed; the
  /// caller then has the only reference. `now` is the time that the caller has already read. If the time were read
  /// again here, a first tick that is due now would count as missed.
  [[nodiscard]] auto start(time_point first, time_point now) noexcept -> bool;

  auto cancel() noexcept -> cancellation;
  [[nodiscard]] auto status() const noexcept -> schedule_status;
  [[nodiscard]] auto runs() const noexcept -> std::uint64_t { return runs_.load(relaxed); }

  void keep() noexcept { references_.fetch_add(1, relaxed); }
  void let_go() noexcept;

 protected:
  virtual ~scheduled_state();

 private:
  enum class phase : std::uint8_t { pending, queued, running, last_run, ending, done, cancelled, refused, dropped };

  virtual void call() = 0;  // the function
  virtual void destroy_captures() noexcept = 0;
  virtual void free() noexcept = 0;
  /// Called with the reason if the only run was skipped.
  virtual void never_ran(errc /*how*/) noexcept {}

  static void fired(timer& self) noexcept;
  static void timers_closed(timer& self) noexcept;
  static void act(job& self, action request);

  [[nodiscard]] auto try_arm(time_point now) noexcept -> bool;
  auto try_leave(phase from) noexcept -> bool;
  void end_as(phase outcome) noexcept;
  void give_up(phase from, phase outcome) noexcept;
  void run();
  void after_run() noexcept;

  executor_id executor_;
  std::shared_ptr<timer_keeper> keeper_;
  tick_rule rule_;
  time_point tick_{};                    // the tick of the next or current run; used by the part that owns the work
  atomic<phase> phase_{phase::pending};  // the protocol says which thread makes which transition
  atomic<std::uint64_t> runs_{0};        // the number of begun runs; written by the running thread
  atomic<std::uint32_t> references_{1};  // the number of handles, plus one for the owner of the work
};

}  // namespace detail
}  // namespace braid
