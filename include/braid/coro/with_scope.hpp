// braid/coro/with_scope.hpp: a task under a scope, a deadline or a value of its own.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/after.hpp>
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
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// Runs `work` inside of `in`, and gives how it ended.
template <typename T>
auto outcome_in(scope& in, task<T> work) noexcept {
  return outcome_awaiter<T>(std::move(work), &in);
}

/// Runs the task that `start(children)` gives, and joins: when it did not end well, the tasks that it left are stopped
/// first.
template <typename T, typename Start>
auto joined(scope& children, Start start) -> task<outcome<T>> {
  outcome<T> ended;
  try {
    task<T> body = start(children);
    ended = co_await outcome_in(children, std::move(body));
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  co_await resume_home();
  if (!ended.has_value()) children.request_stop();
  try {
    co_await children.join();
  } catch (...) {
    if (!ended.has_exception()) ended.set_exception(std::current_exception());
  }
  co_return ended;
}

template <typename T>
struct limited_value {
  using type = result<T>;
};
template <typename T>
struct limited_value<result<T>> {
  using type = result<T>;
};

/// What work that gives a `T` gives under a deadline.
template <typename T>
using limited_t = typename limited_value<T>::type;

}  // namespace detail

/// Calls `body(scope&)`, which gives a task, and ends when that task and everything it spawned into the scope has
/// ended. A failure of the body or of a spawned task stops the others and is rethrown. Threads: any; the body runs at
/// home. Errors: that failure; it ends as stopped where the body does, and where a stop from outside, such as that of a
/// deadline around it, has ended a spawned task early.
template <typename Body>
  requires std::invocable<Body&, scope&>
auto with_scope(Body body) -> std::invoke_result_t<Body&, scope&> {
  using T = typename std::invoke_result_t<Body&, scope&>::value_type;
  co_await resume_home();
  scope& around = co_await this_scope();
  scope children(around);
  task<outcome<T>> all = detail::joined<T>(children, std::ref(body));
  outcome<T> ended = co_await std::move(all);
  if (ended.is_stopped() || (ended.has_value() && children.is_cut_short())) co_await stop_here();
  co_return ended.take();
}

/// Runs `work` until `when` at the latest. Gives a result<T> with its value, or errc::deadline_exceeded once it has
/// ended by the stop that the deadline caused; work that gives a result<T> by itself gives just that. What it throws is
/// rethrown; a value that it gives in spite of the stop wins, unless the stop has ended tasks that it spawned into its
/// own scope. These are joined, as in `with_scope`. Threads: any; `work` runs at home. Errors: errc::deadline_exceeded;
/// what `work` throws.
template <typename T>
auto with_deadline(time_point when, task<T> work) -> task<detail::limited_t<T>> {
  co_await resume_home();
  scope& around = co_await this_scope();
  scope limited(around, when);
  task<outcome<T>> all = detail::joined<T>(limited, [&work](scope&) noexcept { return std::move(work); });
  outcome<T> ended = co_await std::move(all);
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

/// As `with_deadline`, counted from now. Errors: as `with_deadline`.
template <typename Rep, typename Period, typename T>
auto with_timeout(std::chrono::duration<Rep, Period> span, task<T> work) -> task<detail::limited_t<T>> {
  scope& around = co_await this_scope();
  task<detail::limited_t<T>> limited = with_deadline(detail::after(around.where().now(), span), std::move(work));
  co_return co_await std::move(limited);
}

/// The same for anything that can be awaited: see `as_task`. Errors: as `with_deadline`.
template <typename A>
  requires detail::not_only_tasks<A>
auto with_deadline(time_point when, A&& work) -> task<detail::limited_t<detail::task_value_t<A>>> {
  return with_deadline(when, as_task(std::forward<A>(work)));
}

template <typename Rep, typename Period, typename A>
  requires detail::not_only_tasks<A>
auto with_timeout(std::chrono::duration<Rep, Period> span, A&& work)
    -> task<detail::limited_t<detail::task_value_t<A>>> {
  return with_timeout(span, as_task(std::forward<A>(work)));
}

/// A name for values that follow tasks, as a rule a static object: `inline constinit task_local<std::string> request;`.
/// `co_await request.bind(value, work())` runs a task in which it has that value, and so have all tasks that it awaits
/// and spawns at its home; a binding inside of another one hides it. It belongs to the tasks and not to threads: other
/// tasks of the home do not see it.
/// Threads: any. Cost: a binding is a scope; a lookup goes up the scopes of the task, to the binding.
template <typename T>
class task_local {
  class look;

 public:
  constexpr task_local() = default;
  task_local(const task_local&) = delete;
  auto operator=(const task_local&) -> task_local& = delete;

  /// Runs `work` with `value` bound, and ends when it and all that it has spawned have ended.
  template <typename R>
  auto bind(T value, task<R> work) const -> task<R> {
    co_await resume_home();
    scope& around = co_await this_scope();
    scope bound(around);
    bound.bind(this, &value);
    auto start = [&work](scope&) noexcept { return std::move(work); };
    task<outcome<R>> all = detail::joined<R>(bound, start);
    outcome<R> ended = co_await std::move(all);
    if (ended.is_stopped()) co_await stop_here();
    co_return ended.take();
  }

  /// `co_await get()` gives a pointer to the value that is bound for the calling task, or null. It lives as long as the
  /// binding, and what it points to may be changed by the tasks of its home.
  [[nodiscard]] auto get() const noexcept { return look(*this); }
};

template <typename T>
class task_local<T>::look {
 public:
  explicit look(const task_local& of) noexcept : of_(&of) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<detail::promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    if (const scope* const in = self.promise().where(); in != nullptr) found_ = in->bound(of_);
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> T* { return static_cast<T*>(found_); }

 private:
  const task_local* of_;
  void* found_ = nullptr;
};

}  // namespace braid
