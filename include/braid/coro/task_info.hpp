// braid/coro/task_info.hpp: what a task knows of itself: its number and its name.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/scope.hpp>
#include <braid/task/task_id.hpp>

#include <concepts>
#include <coroutine>

namespace braid {

namespace detail {

/// Its address is the key by which scopes know what task they belong to.
extern BRAID_API const char task_info_key;

class task_info_awaiter {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    if (const scope* const in = self.promise().where(); in != nullptr)
      found_ = static_cast<const task_info*>(in->bound(&task_info_key));
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> const task_info* { return found_; }

 private:
  const task_info* found_ = nullptr;
};

}  // namespace detail

/// `co_await this_task()` gives what is known of the calling task, or of the nearest one around it that was started by
/// `spawn`. Null where there is none. Threads: any. Blocks: never.
[[nodiscard]] inline auto this_task() noexcept { return detail::task_info_awaiter(); }

}  // namespace braid
