// braid/coro/with_scope.hpp: runs a task with its own scope, deadline or task-local value.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// Runs `work` inside `scope`, and returns its outcome.
template <typename T>
auto outcome_in(scope& scope, task<T> work) noexcept {
  return outcome_awaiter<T>(std::move(work), &scope);
}

/// The outcome of the body of a scope and of its remaining tasks.
template <typename T>
struct joined_end {
  outcome<T> ended;
  bool is_own_stop = false;  ///< the body ended by a stop of its own scope, which is not passed on
};

/// Runs the task that `start(children)` returns, then joins the scope. If the task failed or was stopped, the remaining
/// tasks are stopped before the join.
template <typename T, typename Start>
auto joined(scope& children, Start start) -> task<joined_end<T>> {
  joined_end<T> end;
  outcome<T>& ended = end.ended;
  try {
    task<T> body = start(children);
    ended = co_await outcome_in(children, std::move(body));
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  co_await resume_home();
  const bool by_scope = children.stop().requested();
  if (!ended.has_value()) children.request_stop();
  try {
    co_await children.join();
  } catch (...) {
    if (!ended.has_exception()) ended.set_exception(std::current_exception());
  }
  end.is_own_stop = ended.is_stopped() && by_scope && children.has_own_stop();
  co_return end;
}

/// Returns the value to use for work that a stop of its own scope has ended. If `T` is a result, the value is a failure
/// with the error `reason`. If `T` is void, there is no value. Errors: for any other `T`, throws std::system_error with
/// `reason`.
template <typename T>
auto value_of_own_stop(errc reason) -> T {
  if constexpr (is_result<T>)
    return fail(reason);
  else if constexpr (!std::is_void_v<T>)
    throw std::system_error(make_error_code(reason), "the scope was stopped before its body returned a value");
}

template <typename T>
struct limited_value {
  using type = result<T>;
};
template <typename T>
struct limited_value<result<T>> {
  using type = result<T>;
};

/// The result type of work that returns a `T` and has a deadline.
template <typename T>
using limited_t = typename limited_value<T>::type;

}  // namespace detail

/// Calls `body(scope&)`, which returns a task. Ends when that task and everything it spawned into the scope has ended.
/// A failure of the body or of a spawned task stops the others and is rethrown. A stop that was requested of this scope
/// itself ends here, whichever task requested it: the caller continues. If the body then has no value, the outcome
/// depends on its type. A task<void> simply ends. A task that returns a result<T> returns the reason of the stop as its
/// error (usually errc::stopped). Any other task throws the reason. If a surrounding scope or deadline is stopped, the
/// caller ends as stopped, even if this scope was stopped as well.
/// Threads: any; the body runs on the home of the caller, the serial executor that the caller is bound to. Errors:
/// rethrows the failure of the body or of a spawned task; std::system_error with the reason of the stop, as described
/// above. `with_scope` ends as stopped in two cases: the body has ended as stopped by itself (`stop_here`), or a stop
/// from outside has ended the body or a spawned task early.
template <typename Body>
  requires std::invocable<Body&, scope&>
auto with_scope(Body body) -> std::invoke_result_t<Body&, scope&> {
  using T = typename std::invoke_result_t<Body&, scope&>::value_type;
  co_await resume_home();
  scope& around = co_await this_scope();
  scope children(around);
  task<detail::joined_end<T>> all = detail::joined<T>(children, std::ref(body));
  detail::joined_end<T> end = co_await std::move(all);
  if (end.is_own_stop) co_return detail::value_of_own_stop<T>(children.stop().reason());
  if (end.ended.is_stopped() || (end.ended.has_value() && children.is_cut_short())) co_await stop_here();
  co_return end.ended.take();
}

/// Runs `work` until `time` at the latest. Returns a result<T> with its value, or errc::deadline_exceeded if the
/// deadline has stopped the work. If `work` returns a result<T>, this returns the same type. Exceptions are rethrown.
/// If the work still returns a value after the stop, that value is the result. However, if the stop has ended tasks
/// that the work spawned into its own scope, the result is errc::deadline_exceeded. Tasks of that scope are joined, as
/// in `with_scope`. If `work` stops its own scope, this returns errc::stopped.
/// Threads: any; `work` runs on the home of the caller. Errors: errc::deadline_exceeded, errc::stopped; rethrows
/// exceptions of `work`.
template <typename T>
auto with_deadline(time_point time, task<T> work) -> task<detail::limited_t<T>> {
  co_await resume_home();
  scope& around = co_await this_scope();
  scope limited(around, time);
  task<detail::joined_end<T>> all =
      detail::joined<T>(limited, [&work] BRAID_COROUTINE_WRAPPER(scope&) noexcept { return std::move(work); });
  detail::joined_end<T> end = co_await std::move(all);
  outcome<T>& ended = end.ended;
  if (end.is_own_stop) co_return fail(limited.stop().reason());
  if (ended.is_stopped() || (ended.has_value() && limited.is_cut_short())) {
    const bool by_deadline = limited.stop().reason() == errc::deadline_exceeded && !around.stop().requested();
    if (!by_deadline) co_await stop_here();
    co_return fail(errc::deadline_exceeded);
  }
  if constexpr (std::is_void_v<T>) {
    ended.take();
    co_return result<void>();
  } else {
    co_return detail::limited_t<T>(ended.take());
  }
}

/// Runs `work` as `with_deadline` does, with a deadline that is `span` after the current time. Errors: the same as for
/// `with_deadline`.
template <typename Rep, typename Period, typename T>
auto with_timeout(std::chrono::duration<Rep, Period> span, task<T> work) -> task<detail::limited_t<T>> {
  scope& around = co_await this_scope();
  task<detail::limited_t<T>> limited = with_deadline(detail::after(around.where().now(), span), std::move(work));
  co_return co_await std::move(limited);
}

/// Works like `with_timeout` of a task, but for anything that can be awaited: see `as_task`. Errors: the same as for
/// `with_deadline`.
template <typename A>
  requires detail::not_only_tasks<A>
BRAID_COROUTINE_WRAPPER auto with_deadline(time_point time, A&& work)
    -> task<detail::limited_t<detail::task_value_t<A>>> {
  return with_deadline(time, as_task(std::forward<A>(work)));
}

template <typename Rep, typename Period, typename A>
  requires detail::not_only_tasks<A>
BRAID_COROUTINE_WRAPPER auto with_timeout(std::chrono::duration<Rep, Period> span, A&& work)
    -> task<detail::limited_t<detail::task_value_t<A>>> {
  return with_timeout(span, as_task(std::forward<A>(work)));
}

/// A task-local variable, usually a static object: `inline constinit task_local<std::string> request;`. `co_await
/// request.bind(value, work())` runs a task in which the variable has that value. All tasks that this task awaits, or
/// spawns at its home, get the same value. An inner binding hides an outer binding. The value belongs to tasks and not
/// to threads: other tasks of the home do not see it.
/// Threads: any. Cost: a binding is a scope; a lookup searches the scopes of the task from the inside out until it
/// finds the binding.
template <typename T>
class task_local {
  class look;

 public:
  constexpr task_local() = default;
  task_local(const task_local&) = delete;
  auto operator=(const task_local&) -> task_local& = delete;

  /// Runs `work` while the variable is bound to `value`. Ends when the work and everything that it has spawned have
  /// ended. If `work` stops its own scope, this ends as `with_scope` does.
  template <typename R>
  auto bind(T value, task<R> work) const -> task<R> {
    co_await resume_home();
    scope& around = co_await this_scope();
    scope bound(around);
    bound.bind(this, &value);
    auto start = [&work] BRAID_COROUTINE_WRAPPER(scope&) noexcept { return std::move(work); };
    task<detail::joined_end<R>> all = detail::joined<R>(bound, start);
    detail::joined_end<R> end = co_await std::move(all);
    if (end.is_own_stop) co_return detail::value_of_own_stop<R>(bound.stop().reason());
    if (end.ended.is_stopped()) co_await stop_here();
    co_return end.ended.take();
  }

  /// `co_await get()` returns a pointer to the value that is bound for the calling task, or null if no value is bound.
  /// The pointer is valid until the task that `bind` runs has ended. Tasks of the same home may change the value
  /// through the pointer.
  [[nodiscard]] auto get() const noexcept { return look(*this); }
};

template <typename T>
class task_local<T>::look {
 public:
  explicit look(const task_local& variable) noexcept : local_(&variable) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<detail::promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    if (const scope* const in = self.promise().where(); in != nullptr) found_ = in->bound(local_);
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> T* { return static_cast<T*>(found_); }

 private:
  const task_local* local_;
  void* found_ = nullptr;
};

}  // namespace braid
