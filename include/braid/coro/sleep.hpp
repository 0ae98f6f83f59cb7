// braid/coro/sleep.hpp: waiting for a point in time.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/detail/after.hpp>
#include <braid/coro/detail/awaiter_base.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <string>

namespace braid {

namespace detail {

struct at_time {
  time_point when;
  [[nodiscard]] auto due(const home& /*where*/) const noexcept -> time_point { return when; }
};

template <typename Span>
struct after_span {
  Span span;
  [[nodiscard]] auto due(const home& where) const noexcept -> time_point {
    // The time that it is now would be rounded up to the next tick.
    return span > span.zero() ? after(where.now(), span) : time_point::min();
  }
};

template <typename When>
class sleep_awaiter final : awaiter_base {
 public:
  explicit sleep_awaiter(When when) noexcept : awaiter_base(how), when_(when) {}
  /// Requires that it is not awaited yet.
  sleep_awaiter(sleep_awaiter&& other) noexcept : sleep_awaiter(other.when_) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    return transfer_to(suspend(self.promise(), self));
  }

  auto await_resume() const noexcept {
    if constexpr (requires { when_.woken(); }) return when_.woken();
  }

 private:
  struct wake_timer : timer {
    explicit wake_timer(sleep_awaiter& s) noexcept : timer(&fired), owner(&s) {}
    sleep_awaiter* owner;
    time_point when;  // it is armed for
  };

  static void fired(timer& self) noexcept { static_cast<wake_timer&>(self).owner->complete(); }
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& sleeping = static_cast<sleep_awaiter&>(self);
    sleeping.timer_.when = sleeping.when_.due(sleeping.where());
    sleeping.where().arm(sleeping.timer_, sleeping.timer_.when);
    return {};
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& sleeping = static_cast<sleep_awaiter&>(self);
    sleeping.where().disarm(sleeping.timer_);
    return withdrawal::done;
  }
  static void describe(const awaiter_base& self, std::string& text) {
    const auto& sleeping = static_cast<const sleep_awaiter&>(self);
    describe_time_left(text, sleeping.timer_.when, sleeping.where().now());
  }
  static constexpr operation how{&start, &withdraw, "sleep", &describe};

  When when_;
  wake_timer timer_{*this};
};

}  // namespace detail

/// Suspends the task until `when`; never shorter. A time in the past lets the other work of the loop go first.
/// Threads: any; a task that is away comes home first. Blocks: no thread. A stop ends the sleep early, and the task as
/// stopped.
[[nodiscard]] inline auto sleep_until(time_point when) noexcept { return detail::sleep_awaiter(detail::at_time{when}); }

/// Suspends the task for at least `span`, counted from the moment it is awaited. A span that is not positive lets the
/// other work of the loop go first; one of more than a century is for ever. Threads, blocks, and a
/// stop: as `sleep_until`.
template <typename Rep, typename Period>
[[nodiscard]] auto sleep_for(std::chrono::duration<Rep, Period> span) noexcept {
  return detail::sleep_awaiter(detail::after_span<std::chrono::duration<Rep, Period>>{span});
}

}  // namespace braid
