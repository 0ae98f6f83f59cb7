// braid/task/detail/timer_keeper.hpp: the timer service to which scheduled work refers. It may outlive the thread that
// fires the timers.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/timer_wheel.hpp>

namespace braid::detail {

/// The part of a `shared_timers` object that may outlive that object. Once the `shared_timers` object is destroyed, no
/// timer can be armed and no timer is pending. Threads: any.
class BRAID_API timer_keeper {
 public:
  timer_keeper() = default;
  timer_keeper(const timer_keeper&) = delete;
  auto operator=(const timer_keeper&) -> timer_keeper& = delete;
  virtual ~timer_keeper();

  /// Arms `item` for `time`. Returns false if the timers are closed; in that case `item` neither fires nor is dropped.
  /// When this returns true, `item` may already have fired.
  [[nodiscard]] virtual auto try_arm(timer& item, time_point time) noexcept -> bool = 0;

  /// Removes `item`. Returns true if `item` was pending; in that case it neither fires nor is dropped. When this
  /// returns, no other thread runs a function of `item`.
  virtual auto retract(timer& item) noexcept -> bool = 0;

  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

}  // namespace braid::detail
