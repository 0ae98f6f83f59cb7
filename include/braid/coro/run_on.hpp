// braid/coro/run_on.hpp: running a function, or a whole task, on another executor, and going on there after a task.
#pragma once

#include <braid/coro/detail/task_value.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename Fn, typename... Args>
using run_on_result = task_value<std::invoke_result_t<Fn, Args...>>;

template <typename Fn, typename... Args>
auto call_there(executor& where, Fn& fn, Args&... args) -> task<typename run_on_result<Fn, Args...>::type> {
  co_await schedule_on(where);
  if constexpr (run_on_result<Fn, Args...>::is_task) {
    auto inner = std::invoke(std::move(fn), std::move(args)...);
    co_return co_await std::move(inner);
  } else {
    co_return std::invoke(std::move(fn), std::move(args)...);
  }
}

}  // namespace detail

/// Calls `fn(args...)` on `where` and gives, at home, what it returns; if that is a task, it runs there up to its first
/// wait, and the value is the task's. Callable and arguments are moved into the frame, live until the end, and are
/// passed as rvalues; std::ref passes a reference.
/// Errors: what `fn` throws; as `schedule_on`.
template <std::move_constructible Fn, std::move_constructible... Args>
  requires std::invocable<Fn, Args...>
auto run_on(executor& where, Fn fn, Args... args) -> task<typename detail::run_on_result<Fn, Args...>::type> {
  using T = typename detail::run_on_result<Fn, Args...>::type;
  task<T> there = detail::call_there(where, fn, args...);
  outcome<T> ended = co_await as_outcome(std::move(there));
  co_await resume_home();
  if (ended.is_stopped()) co_await stop_here();
  co_return ended.take();
}

/// Awaits `work`, and goes on with the caller on `where`, whatever executor `work` ended on. The caller is away then,
/// as after `schedule_on`. Errors: what `work` throws, on `where`; as `schedule_on`.
template <typename T>
auto resume_on(executor& where, task<T> work) -> task<T> {
  outcome<T> ended = co_await as_outcome(std::move(work));
  if (ended.is_stopped()) co_await stop_here();
  co_await schedule_on(where);
  co_return ended.take();
}

}  // namespace braid
