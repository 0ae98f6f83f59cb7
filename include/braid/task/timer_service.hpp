// braid/task/timer_service.hpp: the interface of what keeps armed timers and fires them.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/timer_wheel.hpp>

namespace braid {

/// Keeps armed timers and fires each once, not before its time. An event loop is one, and so are `shared_timers`.
/// Threads: all calls, and the firing, on the thread that the service belongs to, unless the service allows more.
class BRAID_API timer_service {
 public:
  timer_service() = default;
  timer_service(const timer_service&) = delete;
  auto operator=(const timer_service&) -> timer_service& = delete;
  virtual ~timer_service();

  /// Fires `item` at `when`; one that is armed already is moved.
  virtual void arm(timer& item, time_point when) noexcept = 0;

  /// Takes `item` back; it does not fire after this.
  virtual void disarm(timer& item) noexcept = 0;

  /// The time that deadlines are compared with.
  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

}  // namespace braid
