// braid/coro/detail/task_control.hpp: stopping a spawned task from any thread while it runs and ends.
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

/// The connection from the future of a task to the scope in which it runs. Threads with the future find the scope under
/// the lock, and are counted while they stop it. Before the task destroys its scope, it withdraws the scope, and waits
/// until no thread is stopping it.
/// Protocol: docs/design/cancellation.md
class BRAID_API task_control {
 public:
  explicit task_control(std::string&& name);
  task_control(const task_control&) = delete;
  auto operator=(const task_control&) -> task_control& = delete;

  [[nodiscard]] auto info() noexcept -> task_info& { return info_; }

  /// Threads: any.
  void request_stop(errc reason) noexcept;

  // --- the task, at home ---

  /// Passes later stops to this scope. A stop that was requested before is passed on at once.
  void begin(scope& scope) noexcept;

  /// Makes later stops have no effect. Returns true if no thread is about to stop the scope; otherwise `home` runs
  /// `last` as soon as no thread is.
  [[nodiscard]] auto try_leave(home& home, job& last) noexcept -> bool;

  /// The task has ended; for traces.
  void note_end() const noexcept;

 private:
  task_info info_;
  bool is_traced_ = false;  // its begin is in the trace
  small_mutex lock_;        // around all that follows
  unsigned stopping_ = 0;   // threads that are about to stop the scope
  scope* running_ = nullptr;
  home* home_ = nullptr;
  job* last_ = nullptr;
  std::optional<errc> requested_;  // before there was a scope
};

/// The number of tasks of this thread that are ending, each within the end of one that it was spawned by. It limits the
/// depth, so that chains of them do not overflow the stack.
class BRAID_API ending_depth {
 public:
  ending_depth() noexcept;
  ending_depth(const ending_depth&) = delete;
  auto operator=(const ending_depth&) -> ending_depth& = delete;
  ~ending_depth();

  [[nodiscard]] auto is_deep() const noexcept -> bool;
};

}  // namespace braid::detail
