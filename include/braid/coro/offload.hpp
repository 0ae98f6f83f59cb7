// braid/coro/offload.hpp: runs a function on another executor and resumes the task on its home with the result.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/offload_task.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/detail/sent_job.hpp>
#include <braid/coro/detail/timed_offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/refused_call.hpp>
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
class [[nodiscard, gnu::warn_unused]] offload_awaiter final : awaiter_base {
  using value = std::invoke_result_t<Fn&>;

  class call final : public sent_job {
   public:
    explicit call(offload_awaiter& a) noexcept : sent_job(&act), owner_(&a) {}

   private:
    static void act(job& self, action action) {
      auto& sent = static_cast<call&>(self);
      if (sent.try_begin()) return sent.owner_->run(action);
      delete &sent;
    }
    offload_awaiter* owner_;
  };

 public:
  offload_awaiter(executor& executor, Fn fn) : awaiter_base(functions), executor_(&executor), fn_(std::move(fn)) {}
  /// Requires that `other` has not been awaited.
  offload_awaiter(offload_awaiter&& other) noexcept(std::is_nothrow_move_constructible_v<Fn>)
      : awaiter_base(functions), executor_(other.executor_), fn_(std::move(other.fn_)) {}
  ~offload_awaiter() { delete call_; }

  [[nodiscard]] auto await_ready() -> bool {
    call_ = new call(*this);
    return false;
  }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }
  auto await_resume() -> value { return outcome_.take(); }

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<offload_awaiter&>(self);
    if (waiting.executor_->try_post(*waiting.call_)) return {};
    waiting.fail_with(errc::closed);
    return waiting.not_started();
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& waiting = static_cast<offload_awaiter&>(self);
    if (!waiting.call_->try_withdraw()) return withdrawal::runs;
    waiting.call_ = nullptr;
    return withdrawal::done;
  }
  static constexpr operation functions{&start, &withdraw, "offload"};

  void run(job::action todo) noexcept {
    try {
      if (todo == job::action::drop)
        fail_with(errc::dropped);
      else if constexpr (std::is_void_v<value>)
        (std::invoke(fn_), outcome_.set_value());
      else
        outcome_.set_value(std::invoke(fn_));
    } catch (...) {
      outcome_.set_exception(std::current_exception());
    }
    complete_from_elsewhere();  // from here on the coroutine may be running
  }

  void fail_with(errc code) noexcept { outcome_.set_exception(failure_of(code)); }

  executor* executor_;
  Fn fn_;
  call* call_ = nullptr;  // owned, unless a stop has withdrawn it
  outcome<value> outcome_;
};

}  // namespace detail

/// Runs `fn()` on `executor` and resumes the task with the result on its home, the serial executor that the task is
/// bound to. If a stop or a deadline comes before the function has begun, the function does not begin, and the task
/// ends as stopped at once. If the function has begun, the task waits for its end; a long function should poll
/// `scope::stop()`.
/// Threads: any; a task that runs on another executor returns to its home first. Blocks: no thread of the home.
/// Errors: rethrows exceptions of `fn`; std::system_error with errc::closed if `executor` refuses the function,
/// errc::dropped if a shutdown drops it; std::bad_alloc.
/// Cost: a post to `executor` and a post back, and a block of memory for jobs.
template <std::move_constructible Fn>
  requires(std::invocable<Fn&> && !detail::is_lazy_work<std::invoke_result_t<Fn&>>)
[[nodiscard]] auto offload(executor& executor, Fn fn) {
  return detail::offload_awaiter<Fn>(executor, std::move(fn));
}

/// Offloads a function with arguments, or one that returns a task. A returned task runs on `executor` up to its first
/// wait, and its value is the result. The callable and its arguments are moved into the frame, live until the end, and
/// are passed as rvalues. Use std::ref to pass a reference. Threads: the same as for `offload` of a function without
/// arguments. Errors: the errors of `offload` of a function without arguments, and those of `schedule_on`. Cost: two
/// frames.
template <std::move_constructible Fn, std::move_constructible... Args>
  requires(std::invocable<Fn, Args...> &&
           (sizeof...(Args) > 0 || detail::is_lazy_work<std::invoke_result_t<Fn, Args...>>))
BRAID_COROUTINE_WRAPPER [[nodiscard]] auto offload(executor& executor, Fn fn, Args... args) {
  return detail::offload_task(executor, std::move(fn), std::move(args)...);
}

/// The maximum time for which a task waits for an offloaded function.
struct offload_options {
  duration timeout;  ///< how long the task waits
};

/// Runs `fn()` on `executor` and resumes the task on its home with the result, or with errc::deadline_exceeded once the
/// timeout has passed. If the function has not begun by then, it does not begin. If it has begun, it continues and its
/// result is dropped. `executor` counts the function as late, and the destructor of `executor` waits for the function.
/// A stop of the task has the same effect as the timeout.
/// Threads, blocks: the same as for `offload` without a timeout. Errors: errc::deadline_exceeded; errc::closed if
/// `executor` refused the function, errc::dropped if a shutdown dropped it; rethrows an exception that `fn` throws in
/// time. Lifetime: `fn` may outlive the task, so it must own what it uses. Cost: a block of memory for jobs, a timer.
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
[[nodiscard]] auto offload(executor& executor, offload_options options, Fn fn) {
  return detail::timed_offload_awaiter<Fn>(executor, options.timeout, std::move(fn));
}

namespace detail {

/// True if `offload` accepts a callable and its arguments.
template <typename... All>
inline constexpr bool can_offload = false;
template <typename Fn, typename... Args>
inline constexpr bool can_offload<Fn, Args...> =
    (std::constructible_from<std::decay_t<Fn>, Fn> && ... && std::constructible_from<std::decay_t<Args>, Args>) &&
    (sizeof...(Args) == 0 ? std::invocable<std::decay_t<Fn>&> || std::invocable<std::decay_t<Fn>>
                          : std::invocable<std::decay_t<Fn>, std::decay_t<Args>...>);
template <typename Options, typename... All>
  requires std::same_as<std::remove_cvref_t<Options>, offload_options>
inline constexpr bool can_offload<Options, All...> = true;  // see the overload with options

template <typename... All>
inline constexpr bool can_offload_timed = sizeof...(All) == 1 && can_offload<All...>;

}  // namespace detail

/// Does not compile; its error message describes what is wrong with the callable or its arguments.
template <typename... All>
  requires(!detail::can_offload<All...>)
BRAID_COROUTINE_WRAPPER auto offload(executor& /*executor*/, All&&... /*all*/) {
  static_cast<void>(detail::refused_call<All...>());
  return task<void>();
}
/// Does not compile; its error message describes what is wrong with the callable or its arguments.
template <typename... All>
  requires(!detail::can_offload_timed<All...>)
BRAID_COROUTINE_WRAPPER auto offload(executor& /*executor*/, offload_options /*options*/, All&&... /*all*/) {
  static_assert(sizeof...(All) < 2,
                "offload with a timeout accepts no arguments for the callable: capture them in a lambda");
  if constexpr (sizeof...(All) < 2) static_cast<void>(detail::refused_call<All...>());
  return task<void>();
}

}  // namespace braid
