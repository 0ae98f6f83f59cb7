// braid/coro/detail/timed_offload.hpp: runs a function on another executor and waits for it for a limited time.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A function and its state. They are in a separate block of memory, because the waiting task may end before the
/// function. Whichever of the two ends last frees the block.
template <typename Fn>
class timed_call final : public job {
 public:
  using value = std::invoke_result_t<Fn&>;

  timed_call(executor& executor, Fn fn) : job(&act), executor_(&executor), fn_(std::move(fn)) {}

  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_job(block, size); }

  /// Posts the function. Returns false if the executor refuses it; the caller then frees the object.
  auto try_begin(awaiter_base& waiting, void (*wake)(awaiter_base&) noexcept) noexcept -> bool {
    waiting_ = &waiting;
    wake_ = wake;
    return executor_->try_post(*this);
  }

  /// Ends the wait of the task without a result. Returns false if the function has already notified the task.
  [[nodiscard]] auto try_abandon() noexcept -> bool {
    auto seen = state::awaited;
    // edge timed_call.left: both, because the call may free itself after this exchange, and the task reads the outcome
    // if the exchange fails
    return state_.compare_exchange_strong(seen, state::abandoned, acq_rel, acquire);
  }

  outcome<value> ended;
  bool was_dropped = false;

 private:
  enum class state : std::uint8_t { awaited, over, abandoned };

  static void act(job& self, action action) noexcept {
    auto& call = static_cast<timed_call&>(self);
    // edge timed_call.left: observe the task's last use of this object
    if (call.state_.load(acquire) == state::abandoned) {
      delete &call;  // its result is not needed any more, and it has not begun
      return;
    }
    call.run(action);
    auto seen = state::awaited;
    awaiter_base* const waiting = call.waiting_;
    const auto wake = call.wake_;
    // edge timed_call.left: both, because the task reads the outcome. If this exchange fails, the task has left, and
    // the call frees itself.
    if (call.state_.compare_exchange_strong(seen, state::over, acq_rel, acquire)) return wake(*waiting);
    call.executor_->ran_late();
    delete &call;
  }

  void run(action requested) noexcept {
    try {
      if (requested == action::drop)
        was_dropped = true;
      else if constexpr (std::is_void_v<value>)
        (std::invoke(fn_), ended.set_value());
      else
        ended.set_value(std::invoke(fn_));
    } catch (...) {
      ended.set_exception(std::current_exception());
    }
  }

  executor* executor_;
  Fn fn_;
  awaiter_base* waiting_ = nullptr;
  void (*wake_)(awaiter_base&) noexcept = nullptr;
  atomic<state> state_{state::awaited};  // over: written by the job; abandoned: by the home of the task
};

template <typename Fn>
class [[nodiscard, gnu::warn_unused]] timed_offload_awaiter final : awaiter_base {
  using call_type = timed_call<Fn>;
  using value = typename call_type::value;

 public:
  timed_offload_awaiter(executor& executor, duration span, Fn fn)
      : awaiter_base(functions), span_(span), call_(new call_type(executor, std::move(fn))) {}
  /// Requires that `other` has not been awaited.
  timed_offload_awaiter(timed_offload_awaiter&& other) noexcept
      : awaiter_base(functions), span_(other.span_), call_(std::exchange(other.call_, nullptr)) {}
  ~timed_offload_awaiter() { delete call_; }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }

  auto await_resume() -> result<value> {
    if (timer_.is_armed()) where().disarm(timer_);
    if (why_not_ != errc{}) return fail(why_not_);
    if (call_->was_dropped) return fail(errc::dropped);
    if constexpr (std::is_void_v<value>) {
      call_->ended.take();
      return {};
    } else {
      return call_->ended.take();
    }
  }

 private:
  struct end_timer : timer {
    explicit end_timer(timed_offload_awaiter& a) noexcept : timer(&passed), owner(&a) {}
    timed_offload_awaiter* owner;
  };

  static void completed(awaiter_base& self) noexcept {
    static_cast<timed_offload_awaiter&>(self).complete_from_elsewhere();
  }

  static void passed(timer& self) noexcept {
    auto& waiting = *static_cast<end_timer&>(self).owner;
    if (!waiting.try_leave()) return;
    waiting.why_not_ = errc::deadline_exceeded;
    waiting.complete();
  }

  auto try_leave() noexcept -> bool {
    if (!call_->try_abandon()) return false;
    call_ = nullptr;
    return true;
  }

  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<timed_offload_awaiter&>(self);
    home& at = waiting.where();
    at.arm(waiting.timer_, after(at.now(), waiting.span_));
    if (waiting.call_->try_begin(waiting, &completed)) return {};
    waiting.why_not_ = errc::closed;
    return waiting.not_started();
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& waiting = static_cast<timed_offload_awaiter&>(self);
    if (waiting.timer_.is_armed()) waiting.where().disarm(waiting.timer_);
    return waiting.try_leave() ? withdrawal::done : withdrawal::too_late;
  }
  static constexpr operation functions{&start, &withdraw, "offload"};

  duration span_;
  call_type* call_;  // owned while it waits or has been notified
  errc why_not_{};
  end_timer timer_{*this};
};

}  // namespace braid::detail
