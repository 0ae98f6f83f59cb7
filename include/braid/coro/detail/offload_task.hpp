// braid/coro/detail/offload_task.hpp: runs a function with arguments, or a whole task, on another executor.
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

namespace braid::detail {

template <typename Fn, typename... Args>
using offload_result = task_value<std::invoke_result_t<Fn, Args...>>;

template <typename Fn, typename... Args>
auto call_there(executor& executor, Fn& fn, Args&... args) -> task<typename offload_result<Fn, Args...>::type> {
  co_await schedule_on(executor);
  if constexpr (offload_result<Fn, Args...>::is_task) {
    auto inner = std::invoke(std::move(fn), std::move(args)...);
    co_return co_await std::move(inner);
  } else {
    co_return std::invoke(std::move(fn), std::move(args)...);
  }
}

/// Returns the task that `offload` uses for a function with arguments or a function that returns a task.
template <typename Fn, typename... Args>
auto offload_task(executor& executor, Fn fn, Args... args) -> task<typename offload_result<Fn, Args...>::type> {
  using T = typename offload_result<Fn, Args...>::type;
  task<T> there = call_there(executor, fn, args...);
  outcome<T> ended = co_await as_outcome(std::move(there));
  co_await resume_home();
  if (ended.is_stopped()) co_await stop_here();
  co_return ended.take();
}

}  // namespace braid::detail
