// braid/coro/detail/task_value.hpp: whether a function returns a task, and the type of its result.
#pragma once

#include <braid/coro/task.hpp>

namespace braid::detail {

/// The value of a function's result: the result itself, or the value of the task that it is.
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
