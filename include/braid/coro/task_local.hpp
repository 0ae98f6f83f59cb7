// braid/coro/task_local.hpp: a value that a task and everything below it sees, without handing it on.
#pragma once

#include <braid/coro/detail/promise.hpp>
#include <braid/coro/outcome.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

namespace braid {

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
