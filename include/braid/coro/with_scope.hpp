// braid/coro/with_scope.hpp: running a task in a scope of its own, with or without a deadline, and leaving it joined.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/awaitable.hpp>
#include <braid/coro/detail/after.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>

#include <chrono>
#include <concepts>
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
/// home. Errors: that failure; it ends as stopped where the body does.
template <typename Body>
  requires std::invocable<Body&, scope&>
auto with_scope(Body body) -> std::invoke_result_t<Body&, scope&> {
  using T = typename std::invoke_result_t<Body&, scope&>::value_type;
  co_await resume_home();
  scope& around = co_await this_scope();
  scope children(around);
  task<outcome<T>> all = detail::joined<T>(children, std::ref(body));
  outcome<T> ended = co_await std::move(all);
  if (ended.is_stopped()) co_await stop_here();
  co_return ended.take();
}

/// Runs `work` until `when` at the latest. Gives a result<T> with its value, or errc::deadline_exceeded once it has
/// ended by the stop that the deadline caused; work that gives a result<T> by itself gives just that. What it throws is
/// rethrown; a value that it gives in spite of the stop wins. Tasks that it spawned into its own scope are joined, as
/// in `with_scope`. Threads: any; `work` runs at home. Errors: errc::deadline_exceeded; what `work` throws.
template <typename T>
auto with_deadline(time_point when, task<T> work) -> task<detail::limited_t<T>> {
  co_await resume_home();
  scope& around = co_await this_scope();
  scope limited(around, when);
  task<outcome<T>> all = detail::joined<T>(limited, [&work](scope&) noexcept { return std::move(work); });
  outcome<T> ended = co_await std::move(all);
  if (ended.is_stopped()) {
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

}  // namespace braid
