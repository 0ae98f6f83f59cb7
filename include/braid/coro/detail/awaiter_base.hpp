// braid/coro/detail/awaiter_base.hpp: the base class of awaitables that suspend a task until an operation completes or
// is stopped.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/scope.hpp>
#include <braid/task/job.hpp>

#include <coroutine>
#include <cstdint>
#include <string>

namespace braid::detail {

struct wait_layout;

/// The result of withdrawing an operation: whether it was withdrawn before it completed.
enum class withdrawal : std::uint8_t {
  done,      ///< it will not complete any more
  too_late,  ///< another thread has completed it: the coroutine is queued at its home, and continues there
  later,     ///< it has not ended yet: `complete`, `stop_later` or a function `_from_elsewhere` follows
  runs,      ///< another thread runs it to its end: `complete_from_elsewhere` follows, and then the coroutine continues
};

/// The task that must act before a wait can end. Dumps use it to find cycles of waits.
struct needed_task {
  std::uint64_t task = 0;      ///< the number of the task, or 0 if it is not known
  const void* lock = nullptr;  ///< the lock that the task holds; null if its result is awaited
  std::uint64_t grant = 0;     ///< how often the lock was acquired, up to and including this task

  auto operator==(const needed_task&) const -> bool = default;
};

/// Returns the number of the spawned task that a scope belongs to, or 0 if it belongs to no such task. Threads: any
/// thread that runs a task of the scope.
[[nodiscard]] BRAID_API auto task_number(const scope* scope) noexcept -> std::uint64_t;

/// The wait of one coroutine for an operation. `suspend` starts the operation on the home executor. The derived awaiter
/// calls one of the `complete` functions when the operation is over. If a stop comes first, the operation is withdrawn
/// and the coroutine ends as stopped. Either the completion or the stop takes effect, never both.
/// Threads: the home's thread, except `suspend`, `complete_from_elsewhere` and `stop_from_elsewhere`.
class BRAID_API awaiter_base : public job, private stop_callback {
 public:
  struct operation {
    /// Starts the operation. Returns null if the operation now runs, or `not_started()` if the coroutine continues at
    /// once.
    std::coroutine_handle<> (*start)(awaiter_base& self) noexcept;
    withdrawal (*withdraw)(awaiter_base& self) noexcept;
    const char* name = "wait";  ///< the name of the wait in traces and dumps
    /// Appends details for a dump, such as the descriptor or the time left. Called on the home's thread; reads only
    /// data that does not change during the wait.
    void (*describe)(const awaiter_base& self, std::string& text) = nullptr;
    /// Returns the task that must act before this wait can end. Called by dumps, on the home's thread.
    auto (*needs)(const awaiter_base& self) noexcept -> needed_task = nullptr;
    /// The offsets of the data that `describe` and `needs` read, for a debugger that cannot call functions.
    const wait_layout* layout = nullptr;
  };

  /// An awaiter is not copyable. To move an awaiter that has not been awaited, the derived class constructs a new one.
  awaiter_base(const awaiter_base&) = delete;
  auto operator=(const awaiter_base&) -> awaiter_base& = delete;

 protected:
  explicit awaiter_base(const operation& functions) noexcept
      : job(&resumed), stop_callback(&stopped), operation_(&functions) {}
  ~awaiter_base() {
    if (is_linked()) unlink();
  }

  /// Connects the wait to the suspending coroutine, and starts the operation. A coroutine that runs on another executor
  /// returns to its home first. In a stopped scope, the coroutine ends as stopped instead. Returns the coroutine to run
  /// next. The suspended coroutine may already be destroyed when this returns.
  [[nodiscard]] auto suspend(promise_base& promise, await_place place) noexcept -> std::coroutine_handle<>;

  /// Suspends as `suspend` does, but starts the operation only after the other ready work of the home.
  [[nodiscard]] auto yield_first(promise_base& promise, await_place place) noexcept -> std::coroutine_handle<>;

  /// Ends a wait whose operation did not start because it failed or is already complete. Returns the waiting coroutine,
  /// which continues at once.
  [[nodiscard]] auto not_started() noexcept -> std::coroutine_handle<>;

  [[nodiscard]] auto where() const noexcept -> home& { return promise_->where()->where(); }

  /// Returns the number of the spawned task that waits, or 0 if there is no such task.
  [[nodiscard]] auto task() const noexcept -> std::uint64_t { return task_number(promise_->where()); }

  /// Records in the trace the time at which a timer will end the wait.
  void trace_due(time_point time) const noexcept;

  /// Resumes the coroutine at once, or later if a `later_completions` object exists on this thread.
  void complete() noexcept;

  /// Queues the coroutine at its home to be resumed. A stop after this call has no effect.
  void complete_later() noexcept;

  /// Queues the coroutine at its home to end as stopped. Called after `withdraw` has returned `later`.
  void stop_later() noexcept;

  /// Does the same as `complete_later`, but may be called on any thread. Before the call, the caller must make sure
  /// that `withdraw` will return `too_late`.
  void complete_from_elsewhere() noexcept {
    if (is_traced()) [[unlikely]]
      trace_ready();
    where().post_resumption(*this);
  }

  /// Queues the coroutine at its home to end as stopped. May be called on any thread. Before this call, `withdraw` must
  /// have returned `later`.
  void stop_from_elsewhere() noexcept {
    ends_stopped_ = true;
    complete_from_elsewhere();
  }

 private:
  friend class task_walk;
  friend struct debug_layout;
  static void resumed(job& self, action action);
  static void stopped(stop_callback& self) noexcept;
  void resume_traced() noexcept;
  void trace_begin(const scope& scope) const noexcept;
  void trace_ready() const noexcept;
  void trace_end() const noexcept;
  auto connect(promise_base& promise, await_place place) noexcept -> home&;
  auto come_home() noexcept -> std::coroutine_handle<>;
  auto begin() noexcept -> std::coroutine_handle<>;

  const operation* operation_;
  promise_base* promise_ = nullptr;
  enum class state : std::uint8_t { waiting, done, stopped, comes_home } state_ = state::waiting;
  bool ends_stopped_ = false;  // written by the thread that stops it, before the home resumes it
};

/// A guard that defers completions: while it exists, waits that complete on this thread are queued at their home
/// instead of being resumed at once. An event loop uses it while it waits for I/O.
class BRAID_API later_completions {
 public:
  later_completions() noexcept;
  later_completions(const later_completions&) = delete;
  auto operator=(const later_completions&) -> later_completions& = delete;
  ~later_completions();
};

/// Uses up one unit of the thread's poll budget, which limits how many awaits may complete at once. Returns false if
/// the budget is used up. The task must then let other work of its home run first, although its operation is ready.
/// Each step that a home runs from its queue begins with a new budget.
[[nodiscard]] BRAID_API auto may_go_on() noexcept -> bool;

/// Appends `prefix` and the task, such as "of task 17" for the prefix "of". Appends nothing if the number is 0.
/// Errors: std::bad_alloc.
BRAID_API void describe_task(std::string& text, const char* prefix, std::uint64_t number);

/// Appends the time left, such as "3.2 s left", to a description. Errors: std::bad_alloc.
BRAID_API void describe_time_left(std::string& text, time_point time, time_point now);

/// The maximum number of successive awaits of available results within one step of a home.
/// docs/design/constants.md explains how this value was chosen.
inline constexpr int ready_awaits_in_succession = 128;

}  // namespace braid::detail
