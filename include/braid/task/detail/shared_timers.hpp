// braid/task/detail/shared_timers.hpp: timers that any thread may arm and disarm. One thread, which serves the timers,
// fires them.
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

/// A timer service that any thread may use. One thread must serve it: either in `run`, as the thread of a
/// `timer_thread` does, or by calling `run_once` between other work. Tests that set the clock themselves also call
/// `run_once`.
/// Threads: any, but only one thread at a time may call `run` or `run_once`. Cost: O(1) to arm and to disarm, under a
/// lock that is held only for that. If the serving thread would sleep too long, arming also wakes this thread.
/// Protocol: docs/design/scheduled.md
class BRAID_API shared_timers : public timer_service {
 public:
  /// Constructs the timers. Lifetime: the clock must exist until `close` is called.
  explicit shared_timers(const clock_source& clock = steady_time());

  /// Closes the timers. The function of a timer must not destroy this object.
  ~shared_timers() override;

  /// Fires `item` at `time` on the serving thread. A pending timer is moved to the new time. After `close`, the calling
  /// thread drops `item` at once.
  void arm(timer& item, time_point time) noexcept override;

  /// Disarms `item`: after this call, the timer neither fires nor is dropped.
  /// Blocks: while `item` fires or is dropped on another thread, so the caller must not hold a lock that the timer's
  /// function acquires.
  void disarm(timer& item) noexcept override;

  [[nodiscard]] auto now() const noexcept -> time_point override;

  /// Serves the timers until they are closed. Requires the system's clock. Blocks: until the timers are closed.
  void run() noexcept;

  /// Fires all timers that are due. Returns the time at which the caller must call `run_once` again, or nothing if no
  /// timer is pending.
  auto run_once() noexcept -> std::optional<time_point>;

  /// Ends the service. No timer fires after this call. The calling thread drops the pending timers and returns their
  /// number. Repeated calls find nothing to drop. Blocks: while a timer fires on another thread.
  /// Errors: would_deadlock in a function that one of these timers calls.
  [[nodiscard]] auto close() noexcept -> result<std::size_t>;

  /// Returns the part of this object to which scheduled work refers.
  [[nodiscard]] auto keeper() const noexcept -> std::shared_ptr<detail::timer_keeper>;

 protected:
  /// A function that is called as `wake(context)` if the serving thread must call `run_once` earlier than planned. It
  /// is never called after `close`. Threads: any. The caller holds the lock of the timers, so the function may only
  /// post.
  using wake_fn = void (*)(void* context) noexcept;
  shared_timers(const clock_source& clock, wake_fn wake, void* context);

 private:
  struct state;

  std::shared_ptr<state> state_;
};

/// Returns the timers for programs that name no timers. The first use starts their thread. After a fork, the child
/// process does not have this thread, so the first use there starts a new thread. The timers are never destroyed,
/// because armed timers may exist until the end of the process.
/// Threads: any. Errors: std::system_error if the thread cannot be started.
[[nodiscard]] BRAID_API auto timers_of_process() -> shared_timers&;

}  // namespace braid::detail
