// braid/coro/home.hpp: the home of a task: the serial executor that always resumes the task, and that also has a timer
// service.
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
class task_walk;
struct debug_layout;
}  // namespace detail

/// The executor on which a task always resumes, regardless of which thread wakes it. It never runs two jobs at the same
/// time. So the data of its tasks (timers, waiters, scopes) needs no atomics.
class BRAID_API home : public executor, public timer_service, private detail::home_hook {
 public:
  ~home() override;

  /// Queues the next step of a task of this home. Unlike a job of `try_post`, the step is accepted even while the home
  /// is stopping, because a home ends only after its tasks. Threads: any.
  virtual void post_resumption(job& step) noexcept = 0;

  /// Returns the scope of the tasks that belong to no other scope. A stop of the home stops this scope. Threads: the
  /// home's thread.
  [[nodiscard]] virtual auto root() noexcept -> scope& = 0;

  /// Returns whether the home's jobs always run on the same thread. Fibers require that.
  /// Threads: any.
  [[nodiscard]] virtual auto has_own_thread() const noexcept -> bool { return false; }

 protected:
  [[nodiscard]] auto is_listed() const noexcept -> bool { return is_listed_.load(relaxed); }

 private:
  friend class intrusive_list<home, detail::home_hook>;
  friend struct detail::home_list;
  friend struct detail::debug_layout;
  friend class detail::dump_round;
  friend class detail::task_walk;

  /// Queues a job that examines the tasks of the home but runs none of them. The home may accept the job even while it
  /// refuses other jobs. Threads: any, under the lock of `home_list`.
  [[nodiscard]] virtual auto ask(job& /*question*/) noexcept -> detail::asked { return detail::asked::refused; }
  /// Completes a call of `ask` that has returned `to_be_run`. Called without the lock.
  virtual void run_asked() noexcept {}
  /// Returns whether the jobs of the home run on the executor with this id. Also returns true if this is the id of the
  /// home itself. Threads: any.
  [[nodiscard]] virtual auto runs_on(detail::executor_id id) const noexcept -> bool { return has_id(id); }
  /// Returns the id of the thread that the home always runs on, or 0 if its thread may change. Threads: any.
  [[nodiscard]] virtual auto own_thread() const noexcept -> ::pid_t { return 0; }

  scope* listed_root_ = nullptr;   // read by dumps and debuggers; written with `is_listed_`
  atomic<bool> is_listed_{false};  // true if the home is in `home_list`; written under its lock
};

}  // namespace braid
