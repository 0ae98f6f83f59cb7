// braid/coro/home.hpp: the executor of a thread on which tasks live, with their timers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/home_list.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/executor.hpp>

#include <sys/types.h>

namespace braid {

class scope;

namespace detail {
class dump_round;
struct debug_layout;
}  // namespace detail

/// The executor that a task is resumed on, whatever wakes it. It runs its jobs on one thread, so what belongs to its
/// tasks (timers, waiters, scopes) needs no atomics.
class BRAID_API home : public executor, public timer_service, private detail::home_hook {
 public:
  ~home() override;

  /// Queues the next step of a task that lives here. Unlike `try_post` it is taken while the home is stopping as well:
  /// a home ends only after the tasks on it have. Threads: any.
  virtual void post_resumption(job& step) noexcept = 0;

  /// Returns the scope of the tasks that belong to nothing narrower; a stop of the home stops it. Threads: the home's
  /// own.
  [[nodiscard]] virtual auto root() noexcept -> scope& = 0;

  /// Returns whether its jobs always run on the same thread, which fibers require.
  /// Threads: any.
  [[nodiscard]] virtual auto has_own_thread() const noexcept -> bool { return false; }

 protected:
  [[nodiscard]] auto is_listed() const noexcept -> bool { return is_listed_.load(relaxed); }

 private:
  friend class intrusive_list<home, detail::home_hook>;
  friend struct detail::home_list;
  friend struct detail::debug_layout;
  friend class detail::dump_round;

  /// Queues a job that looks at the tasks of the home, in whatever state that is. Runs nothing. Threads: any, under the
  /// lock of `home_list`.
  [[nodiscard]] virtual auto ask(job& /*question*/) noexcept -> detail::asked { return detail::asked::refused; }
  /// Does the rest, if the answer was `to_be_run`. Called without the lock.
  virtual void run_asked() noexcept {}
  /// Returns whether its jobs run on `executor`, or are jobs of `executor` itself.
  /// Threads: any.
  [[nodiscard]] virtual auto runs_on(detail::executor_id id) const noexcept -> bool { return has_id(id); }
  /// Returns the thread that it has for ever, or 0. Threads: any.
  [[nodiscard]] virtual auto own_thread() const noexcept -> ::pid_t { return 0; }

  const scope* listed_root_ = nullptr;  // for debuggers; written with `is_listed_`
  atomic<bool> is_listed_{false};       // in `home_list`; written under its lock
};

}  // namespace braid
