// braid/coro/detail/task_value.hpp: traits for functions that may return a task: whether a function returns a task, and
// the type of the task's value.
#pragma once

#include <braid/coro/task.hpp>

namespace braid::detail {

/// The value type of a function's result: the value type of the task if the result is a task, otherwise the result type
/// itself.
template <typename R>
struct task_value {
  static constexpr bool is_task = false;
  using type = R;
};
template <typename T>
struct task_value<task<T>> {
  static constexpr bool is_task = true;
  using type = T;
};

}  // namespace braid::detail
