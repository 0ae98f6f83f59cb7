// braid/coro/schedule_on.hpp: moves a task to another executor and back to its home.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/departure.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/scope.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <system_error>

namespace braid {

namespace detail {

class [[nodiscard, gnu::warn_unused]] schedule_awaiter final : job {
 public:
  explicit schedule_awaiter(executor& executor) noexcept : job(&came_home), executor_(&executor) {}
  schedule_awaiter(const schedule_awaiter&) = delete;
  auto operator=(const schedule_awaiter&) -> schedule_awaiter& = delete;
  ~schedule_awaiter() { delete way_; }

  [[nodiscard]] auto await_ready() -> bool {
    way_ = new departure(*this);
    return false;
  }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    promise_ = &self.promise();
    promise_->suspends_at(place);
    scope* const in = promise_->where();
    if (in == nullptr || in->where().is_current()) return transfer_to(leave());
    in->where().post_resumption(*this);  // a stop reaches it at home only
    return transfer_to({});
  }
  void await_resume() const {
    if (why_not_ != errc{}) throw std::system_error(make_error_code(why_not_));
  }

 private:
  friend class departure;
  enum class step : std::uint8_t { leave, stop, go_on };

  /// Posts the coroutine to the other executor. Returns the coroutine to run next. Threads: the home's thread, if the
  /// task has a home.
  BRAID_API auto leave() noexcept -> std::coroutine_handle<>;
  BRAID_API static void came_home(job& self, action action);
  void come_home_for(step there) noexcept {
    next_step_ = there;
    promise_->where()->where().post_resumption(*this);
  }

  executor* executor_;
  departure* way_ = nullptr;  // null once it is posted
  promise_base* promise_ = nullptr;
  step next_step_ = step::leave;
  errc why_not_{};
};

class [[nodiscard, gnu::warn_unused]] home_awaiter final : job {
 public:
  home_awaiter() noexcept : job(&arrived) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    const scope* const in = self.promise().where();
    if (in == nullptr || in->where().is_current()) return transfer_to(self);
    handle_ = self;
    in->where().post_resumption(*this);
    return transfer_to({});
  }
  void await_resume() const noexcept {}

 private:
  static void arrived(job& self, action /*what*/) { resume(static_cast<home_awaiter&>(self).handle_); }

  std::coroutine_handle<> handle_;
};

}  // namespace detail

/// `co_await schedule_on(executor)` continues the calling task as a job of `executor`, away from its home (the serial
/// executor that the task is bound to). The task returns to its home by itself before its next wait (a sleep, a lock, a
/// descriptor) and at its end. It can return earlier by `resume_home`. If the task awaits another task that ends away
/// from home, the awaiting task continues on the executor on which the other task has ended. While a task is away, it
/// must not use things that belong to the home, such as events and scopes. A task without a home simply continues on
/// `executor`.
/// Errors: std::system_error with errc::closed if `executor` refuses the task, which then stays where it is; with
/// errc::dropped, on the home, if a shutdown of `executor` drops the task. In a stopped scope the task ends as stopped.
/// Threads: any thread that runs the task. Blocks: no thread.
[[nodiscard]] inline auto schedule_on(executor& executor) noexcept { return detail::schedule_awaiter(executor); }

/// `co_await resume_home()` returns a task to its home. If the task already runs on its home, it does nothing. Threads,
/// blocks: the same as for `schedule_on`. Never fails, because a home always accepts its own tasks.
[[nodiscard]] inline auto resume_home() noexcept { return detail::home_awaiter(); }

}  // namespace braid
