// braid/coro/home.hpp: where a task lives: one thread's executor that also keeps its timers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/timer_service.hpp>

namespace braid {

class scope;

/// The executor that a task is resumed on, whatever wakes it. It runs its jobs on one thread, so what belongs to its
/// tasks (timers, waiters, scopes) needs no atomics.
class BRAID_API home : public executor, public timer_service {
 public:
  ~home() override;

  /// Queues the next step of a task that lives here. Unlike `try_post` it is taken while the home is stopping as well:
  /// a home ends only after the tasks on it have. Threads: any.
  virtual void post_resumption(job& step) noexcept = 0;

  /// The scope of the tasks that belong to nothing narrower; a stop of the home stops it. Threads: the home's own.
  [[nodiscard]] virtual auto root() noexcept -> scope& = 0;

  /// Whether its jobs run on the same thread for ever, as fibers need it. Threads: any.
  [[nodiscard]] virtual auto has_own_thread() const noexcept -> bool { return false; }
};

}  // namespace braid
