// braid/coro/detail/awaiter_base.hpp: what an awaitable that really waits is made of: it resumes at home, or is
// stopped.
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

/// Whether an operation could be ended before it completed.
enum class withdrawal : std::uint8_t {
  done,      ///< it will not complete any more
  too_late,  ///< another thread has completed it: the coroutine is on its way home, and continues there
  later,     ///< it is not over yet: `complete`, `stop_later` or one of the functions `_from_elsewhere` follows
  runs,      ///< another thread runs it to its end: `complete_from_elsewhere` follows, and then the coroutine continues
};

/// The task that a wait depends on, for dumps.
struct needed_task {
  std::uint64_t task = 0;      ///< the number of the task, or 0 if it is not known
  const void* lock = nullptr;  ///< the lock that the task holds; null if its result is awaited
  std::uint64_t grant = 0;     ///< of that lock: how often it was taken or handed on before, and by this task

  auto operator==(const needed_task&) const -> bool = default;
};

/// Returns the number of the spawned task that a scope belongs to, or 0. Threads: any that a task of the scope runs on.
[[nodiscard]] BRAID_API auto task_number(const scope* scope) noexcept -> std::uint64_t;

/// The wait of one coroutine. `suspend` starts the operation at home; the derived awaiter calls one of the `complete`
/// functions when it is over. Where a stop comes first, the operation is withdrawn and the coroutine ends as stopped.
/// Only one of both happens.
/// Threads: the home's, except `suspend`, `complete_from_elsewhere` and `stop_from_elsewhere`.
class BRAID_API awaiter_base : public job, private stop_callback {
 public:
  struct operation {
    /// Starts it, and returns the coroutine to run meanwhile: null, or `not_started()`.
    std::coroutine_handle<> (*start)(awaiter_base& self) noexcept;
    withdrawal (*withdraw)(awaiter_base& self) noexcept;
    const char* name = "wait";  ///< what it waits for, in a trace and in a dump
    /// Says more in a dump: which descriptor, how long still. Called at home; reads what a wait does not change.
    void (*describe)(const awaiter_base& self, std::string& text) = nullptr;
    /// Returns, for dumps, the task that this wait needs. Called at home.
    auto (*needs)(const awaiter_base& self) noexcept -> needed_task = nullptr;
    /// The same information for a debugger, which calls no functions: offsets of the data.
    const wait_layout* layout = nullptr;
  };

  /// If it is moved before it is awaited, the derived awaiter constructs a new one.
  awaiter_base(const awaiter_base&) = delete;
  auto operator=(const awaiter_base&) -> awaiter_base& = delete;

 protected:
  explicit awaiter_base(const operation& how) noexcept : job(&resumed), stop_callback(&stopped), operation_(&how) {}
  ~awaiter_base() {
    if (is_linked()) unlink();
  }

  /// Connects the wait to the suspending coroutine, and starts the operation; a coroutine that is away comes home
  /// first. In a scope that is stopped it ends as stopped instead. Returns the coroutine to run next; the leaf may be
  /// destroyed by then.
  [[nodiscard]] auto suspend(promise_base& promise, std::coroutine_handle<> self, await_place place) noexcept
      -> std::coroutine_handle<>;

  /// Does the same, but the other work that is ready at home goes first.
  [[nodiscard]] auto yield_first(promise_base& promise, std::coroutine_handle<> self, await_place place) noexcept
      -> std::coroutine_handle<>;

  /// Ends a wait whose operation need not, or could not, start, and returns the coroutine, which continues at once.
  [[nodiscard]] auto not_started() noexcept -> std::coroutine_handle<>;

  [[nodiscard]] auto where() const noexcept -> home& { return promise_->where()->where(); }

  /// Returns the number of the spawned task that it belongs to, or 0.
  [[nodiscard]] auto task() const noexcept -> std::uint64_t { return task_number(promise_->where()); }

  /// Records, for traces, the time at which a timer ends the wait.
  void trace_due(time_point time) const noexcept;

  /// Resumes the coroutine now, unless the thread puts that off.
  void complete() noexcept;

  /// Resumes the coroutine when its home comes to it. From here on a stop is too late.
  void complete_later() noexcept;

  /// Ends the coroutine as stopped when its home comes to it. After `withdraw` has answered `later`.
  void stop_later() noexcept;

  /// Does the same as `complete_later` from any thread. From before this call, `withdraw` returns `too_late`.
  void complete_from_elsewhere() noexcept {
    if (is_traced()) [[unlikely]]
      trace_ready();
    where().post_resumption(*this);
  }

  /// Ends the coroutine as stopped when its home comes to it, from any thread. `withdraw` returns `later` until then.
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
  auto connect(promise_base& promise, std::coroutine_handle<> self, await_place place) noexcept -> home&;
  auto come_home() noexcept -> std::coroutine_handle<>;
  auto begin() noexcept -> std::coroutine_handle<>;

  const operation* operation_;
  promise_base* promise_ = nullptr;
  std::coroutine_handle<> handle_;
  enum class state : std::uint8_t { waiting, done, stopped, comes_home } state_ = state::waiting;
  bool ends_stopped_ = false;  // written by the thread that stops it, before the home resumes it
};

/// While it lives, what completes on this thread is resumed by its home later, and not at once: for a thread that
/// sleeps, and must be notified that there is something to do before it does it.
class BRAID_API later_completions {
 public:
  later_completions() noexcept;
  later_completions(const later_completions&) = delete;
  auto operator=(const later_completions&) -> later_completions& = delete;
  ~later_completions();
};

/// Uses up one unit of the thread's budget of awaits that complete at once. Returns false if the budget is empty: then
/// the task lets other work of its home run first, although it need not wait. Each step from the queue of a home has a
/// new budget.
[[nodiscard]] BRAID_API auto may_go_on() noexcept -> bool;

/// Appends "of task 17", with the word `how` for "of"; nothing if the number is 0.
/// Errors: std::bad_alloc.
BRAID_API void describe_task(std::string& text, const char* how, std::uint64_t number);

/// Appends "3.2 s left" to a description. Errors: std::bad_alloc.
BRAID_API void describe_time_left(std::string& text, time_point time, time_point now);

/// The number of awaits of available results that may follow each other in a step of a home.
inline constexpr int ready_awaits_in_succession = 128;

}  // namespace braid::detail
