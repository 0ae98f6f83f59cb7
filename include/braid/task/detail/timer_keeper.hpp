// braid/task/detail/timer_keeper.hpp: the timer service that scheduled work refers to; it may outlive the thread that
// fires the timers.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/timer_wheel.hpp>

namespace braid::detail {

/// The part of `shared_timers` that may outlive them. After their end, no timer can be armed and none is pending.
/// Threads: any.
class BRAID_API timer_keeper {
 public:
  timer_keeper() = default;
  timer_keeper(const timer_keeper&) = delete;
  auto operator=(const timer_keeper&) -> timer_keeper& = delete;
  virtual ~timer_keeper();

  /// Arms `item` for `time`. Returns false if the timers are closed; then `item` neither fires nor is dropped. If it
  /// returns true, `item` may have fired already.
  [[nodiscard]] virtual auto try_arm(timer& item, time_point time) noexcept -> bool = 0;

  /// Removes `item`. Returns true if it was pending; then it neither fires nor is dropped. In both cases, no other
  /// thread runs a function of `item` afterwards.
  virtual auto retract(timer& item) noexcept -> bool = 0;

  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

}  // namespace braid::detail
