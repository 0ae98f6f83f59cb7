// braid/coro/offload.hpp: running a function on another executor, and coming home with its result.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/offload_task.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/detail/timed_offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename Fn>
class offload_awaiter : deaf_wait {
  using value = std::invoke_result_t<Fn&>;

  struct outward : job {
    explicit outward(offload_awaiter& a) noexcept : job(&act), owner(&a) {}
    static void act(job& self, action what) { static_cast<outward&>(self).owner->run(what); }
    offload_awaiter* owner;
  };
  struct homeward : job {
    explicit homeward(offload_awaiter& a) noexcept : job(&act), owner(&a) {}
    static void act(job& self, action /*what*/) { resume(static_cast<homeward&>(self).owner->handle_); }
    offload_awaiter* owner;
  };

 public:
  offload_awaiter(executor& where, Fn fn) : deaf_wait(nullptr), where_(&where), fn_(std::move(fn)) {}
  /// Requires that it is not awaited yet.
  offload_awaiter(offload_awaiter&& other) noexcept(std::is_nothrow_move_constructible_v<Fn>)
      : deaf_wait(nullptr), where_(other.where_), fn_(std::move(other.fn_)) {}
  offload_awaiter(const offload_awaiter&) = delete;
  auto operator=(const offload_awaiter&) -> offload_awaiter& = delete;

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place at = await_place::current()) noexcept
      -> transfer {
    scope* in = self.promise().where();
    BRAID_EXPECTS(in != nullptr, "this task has no home: spawn it into a scope, or sync_wait for it on a home");
    if (in->stop().requested()) return transfer_to(self.promise().stop());
    handle_ = self;
    home_ = &in->where();
    begins(self.promise(), self, at);
    if (where_->try_post(outward_)) return transfer_to({});
    ends();
    fail_with(errc::closed);
    return transfer_to(self);
  }

  auto await_resume() -> value {
    ends();
    return outcome_.take();
  }

 private:
  void run(job::action what) noexcept {
    try {
      if (what == job::action::drop)
        fail_with(errc::dropped);
      else if constexpr (std::is_void_v<value>)
        (std::invoke(fn_), outcome_.set_value());
      else
        outcome_.set_value(std::invoke(fn_));
    } catch (...) {
      outcome_.set_exception(std::current_exception());
    }
    home_->post_resumption(homeward_);  // from here on the coroutine may be running
  }

  void fail_with(errc code) noexcept { outcome_.set_exception(failure_of(code)); }

  executor* where_;
  Fn fn_;
  home* home_ = nullptr;
  std::coroutine_handle<> handle_;
  outcome<value> outcome_;
  outward outward_{*this};
  homeward homeward_{*this};
};

}  // namespace detail

/// Runs `fn()` on `where` and resumes the task at home with its result. The function ends before the task goes on, also
/// when a stop comes meanwhile: a long function polls `scope::stop()`.
/// Threads: any; a task that is away comes home first. Blocks: no thread of the home.
/// Errors: what `fn` throws; std::system_error with errc::closed where `where` refused it, errc::dropped where it was
/// dropped by a shutdown. Cost: a post to `where` and one back; no allocation.
template <std::move_constructible Fn>
  requires(std::invocable<Fn&> && !detail::is_lazy_work<std::invoke_result_t<Fn&>>)
[[nodiscard]] auto offload(executor& where, Fn fn) {
  return detail::offload_awaiter<Fn>(where, std::move(fn));
}

/// The same for a function with arguments, or one that gives a task: that runs on `where` up to its first wait, and the
/// value is the task's. Callable and arguments are moved into the frame, live until the end, and are passed as rvalues;
/// std::ref passes a reference. Threads: as above. Errors: as above, and as `schedule_on`. Cost: two frames.
template <std::move_constructible Fn, std::move_constructible... Args>
  requires(std::invocable<Fn, Args...> &&
           (sizeof...(Args) > 0 || detail::is_lazy_work<std::invoke_result_t<Fn, Args...>>))
[[nodiscard]] auto offload(executor& where, Fn fn, Args... args) {
  return detail::offload_task(where, std::move(fn), std::move(args)...);
}

/// How long a task waits for what it has offloaded.
struct offload_options {
  duration timeout;  ///< how long the task waits
};

/// Runs `fn()` on `where` and resumes the task at home with its result, or with errc::deadline_exceeded once the
/// timeout has passed. A function that has not begun by then does not begin; one that has goes on, and its result is
/// dropped when it ends: `where` counts it as late, and ends only after it. A stop of the task leaves it in the same
/// way. Threads, blocks: as above. Errors: errc::deadline_exceeded; errc::closed where `where` refused it,
/// errc::dropped where a shutdown dropped it; rethrows what `fn` throws in time. Lifetime: `fn` may outlive the task:
/// it owns what it uses. Cost: a block of memory for jobs, a timer.
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
[[nodiscard]] auto offload(executor& where, offload_options how, Fn fn) {
  return detail::timed_offload_awaiter<Fn>(where, how.timeout, std::move(fn));
}

}  // namespace braid
