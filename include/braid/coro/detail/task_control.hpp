// braid/coro/detail/task_control.hpp: stops a spawned task from any thread, even while the task is ending.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/sync/detail/small_mutex.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <cstdint>
#include <string>

namespace braid::detail {

/// The connection from the future of a task to the scope in which it runs. Threads that hold the future get the scope
/// under the lock, and are counted while they stop it. Before the task destroys its scope, it removes the scope from
/// this object, and waits until no thread is stopping the scope.
/// Protocol: docs/design/cancellation.md
class BRAID_API task_control {
 public:
  explicit task_control(std::string&& name);
  task_control(const task_control&) = delete;
  auto operator=(const task_control&) -> task_control& = delete;

  [[nodiscard]] auto info() noexcept -> task_info& { return info_; }

  /// Stops the task for `reason`. If the task waits for the end of this call, the home of its scope then runs the job
  /// `last`.
  /// Threads: any.
  void request_stop(errc reason, job& last) noexcept;

  // --- The task calls the following functions on its home. ---

  /// Makes later stops reach the scope `own`. If a stop was requested earlier, stops the scope at once.
  void begin(scope& own) noexcept;

  /// Returns the scope that was passed to `begin`, or null before that call. The scope may no longer exist after
  /// `try_leave`.
  [[nodiscard]] auto own_scope() const noexcept -> scope* { return own_; }

  /// Disables later stops. Returns true if no thread is about to stop the scope. Otherwise returns false, and the home
  /// runs the job `last` of `request_stop` as soon as no thread is stopping the scope.
  [[nodiscard]] auto try_leave() noexcept -> bool;

  /// Records in the trace that the task has ended.
  void note_end() const noexcept;

  /// Records whether the task ended as stopped. A call with false after a call with true means that the task failed
  /// after it was stopped.
  void set_stopped(bool value) noexcept { is_stopped_ = value; }
  [[nodiscard]] auto is_stopped() const noexcept -> bool { return is_stopped_; }

  /// Records whether the task is detached, so that no code uses its future. Called before the task is posted.
  void set_detached(bool value) noexcept { is_detached_ = value; }
  [[nodiscard]] auto is_detached() const noexcept -> bool { return is_detached_; }

 private:
  task_info info_;
  bool is_traced_ : 1 = false;  // the trace contains the beginning of the task
  bool is_stopped_ : 1 = false;
  bool is_detached_ : 1 = false;
  small_mutex lock_;  // guards all members below
  /// The ways in which a stop can reach the task.
  enum class stops : std::uint8_t {
    none,     // not at all: the task has no scope yet, or does not use it any more
    passed,   // through the scope
    awaited,  // like `none`; in addition, the task is queued once no thread is stopping the scope
  } stops_ = stops::none;
  std::uint8_t requested_ = 0;  // the reason of a stop that was requested before the scope existed, or 0
  std::uint32_t stopping_ = 0;  // the number of threads that are about to stop the scope
  scope* own_ = nullptr;        // set by `begin`; the task itself reads it without the lock
};

/// Counts how deeply the ends of tasks are nested on this thread. A task may end within the end of the task that
/// spawned it. The count limits the nesting, so that chains of tasks do not overflow the stack.
class BRAID_API ending_depth {
 public:
  ending_depth() noexcept;
  ending_depth(const ending_depth&) = delete;
  auto operator=(const ending_depth&) -> ending_depth& = delete;
  ~ending_depth();

  [[nodiscard]] auto is_deep() const noexcept -> bool;
};

}  // namespace braid::detail
