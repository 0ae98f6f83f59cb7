// braid/coro/detail/task_control.hpp: stops a spawned task from any thread, even while the task is ending.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/sync/detail/small_mutex.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <optional>
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

  /// Stops the task for `reason`. Threads: any.
  void request_stop(errc reason) noexcept;

  // --- The task calls the following functions on its home. ---

  /// Passes later stops to this scope. An earlier stop is passed on at once.
  void begin(scope& scope) noexcept;

  /// Disables later stops. Returns true if no thread is about to stop the scope. Otherwise returns false, and `home`
  /// runs `last` as soon as no thread is stopping the scope.
  [[nodiscard]] auto try_leave(home& home, job& last) noexcept -> bool;

  /// Records in the trace that the task has ended.
  void note_end() const noexcept;

 private:
  task_info info_;
  bool is_traced_ = false;  // the trace contains its begin
  small_mutex lock_;        // guards all members below
  unsigned stopping_ = 0;   // threads that are about to stop the scope
  scope* running_ = nullptr;
  home* home_ = nullptr;
  job* last_ = nullptr;
  std::optional<errc> requested_;  // before there was a scope
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
