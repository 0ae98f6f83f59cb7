// braid/coro/task_info.hpp: the number and the name of a task that was spawned with a handle.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/scope.hpp>

#include <compare>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <string>

namespace braid {

/// Different for each task that was spawned with a handle, for as long as the process lives. 0 is none.
struct task_id {
  std::uint64_t number = 0;
  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// How a task is to be spawned.
struct task_options {
  std::string name = {};
};

struct task_info {
  task_id id;
  std::string name;
};

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

/// `co_await this_task()` tells the calling task, or the nearest one around it that was spawned with a handle. Null
/// where there is none.
[[nodiscard]] inline auto this_task() noexcept { return detail::task_info_awaiter(); }

}  // namespace braid
