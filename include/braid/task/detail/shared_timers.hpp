// braid/task/detail/shared_timers.hpp: timers that any thread arms and disarms, and that fire on the thread that serves
// them.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/timer_keeper.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace braid::detail {

/// A timer service that any thread may use. One thread has to serve it: in `run`, like that of a `timer_thread`, or by
/// calls of `run_once` between other work, and in tests that set the clock themselves.
/// Threads: any; `run` and `run_once` one at a time. Cost: O(1) to arm and to disarm, under a lock that is held only
/// for that; a wake if the serving thread would sleep too long.
/// Protocol: docs/design/scheduled.md
class BRAID_API shared_timers : public timer_service {
 public:
  /// Lifetime: the clock is read until `close`.
  explicit shared_timers(const clock_source& clock = steady_time());

  /// Closes. Not from a function of a timer.
  ~shared_timers() override;

  /// Fires `item` at `time`, on the serving thread; a pending timer is moved. After `close` it is dropped at once, by
  /// the caller.
  void arm(timer& item, time_point time) noexcept override;

  /// Disarms `item`: after this it neither fires nor is dropped.
  /// Blocks: while it fires or is dropped on another thread, so the caller must not hold a lock that its function
  /// acquires.
  void disarm(timer& item) noexcept override;

  [[nodiscard]] auto now() const noexcept -> time_point override;

  /// Serves until the timers are closed. Requires the system's clock. Blocks: until then.
  void run() noexcept;

  /// Fires the timers that are due, and returns the time of the next useful call, or nothing if no timer is pending.
  auto run_once() noexcept -> std::optional<time_point>;

  /// Ends the service. Nothing fires after this; pending timers are dropped, by the caller, and counted. Repeated calls
  /// find nothing to drop. Blocks: while a timer fires on another thread.
  /// Errors: would_deadlock from a function of a timer of these timers.
  [[nodiscard]] auto close() noexcept -> result<std::size_t>;

  /// Returns the timers that scheduled work uses.
  [[nodiscard]] auto keeper() const noexcept -> std::shared_ptr<detail::timer_keeper>;

 protected:
  /// Calls `wake(context)` if the serving thread must call `run_once` earlier than it knows; never after `close`.
  /// Threads: any, under the lock of the timers, so it must only post.
  using wake_fn = void (*)(void* context) noexcept;
  shared_timers(const clock_source& clock, wake_fn wake, void* context);

 private:
  struct state;

  std::shared_ptr<state> state_;
};

/// Returns the timers for programs that name none. The first use starts their thread, also in the child of a fork,
/// which does not inherit it. Never destroyed, because armed timers may live until the end of the process.
/// Threads: any. Errors: std::system_error if the thread cannot be started.
[[nodiscard]] BRAID_API auto timers_of_process() -> shared_timers&;

}  // namespace braid::detail
