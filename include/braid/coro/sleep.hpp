// braid/coro/sleep.hpp: waiting for a point in time.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/detail/leaf.hpp>

#include <algorithm>
#include <concepts>
#include <coroutine>

namespace braid {

namespace detail {

class sleep_awaiter final : leaf {
 public:
  explicit sleep_awaiter(time_point when) noexcept : leaf(&withdraw), when_(when) {}
  explicit sleep_awaiter(duration span) noexcept : leaf(&withdraw), span_(span) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    if (!begin(self.promise(), self)) return transfer_to(self.promise().stop());
    where().arm(timer_, when_ == time_point::max() ? after(where().now(), span_) : when_);
    return transfer_to({});
  }

  void await_resume() const noexcept {}

 private:
  struct wake_timer : timer {
    explicit wake_timer(sleep_awaiter& s) noexcept : timer(&fired), owner(&s) {}
    sleep_awaiter* owner;
  };

  static auto after(time_point now, duration span) noexcept -> time_point {
    return span > time_point::max() - now ? time_point::max() : now + span;
  }
  static void fired(timer& self) noexcept { static_cast<wake_timer&>(self).owner->complete(); }
  static void withdraw(leaf& self) noexcept {
    auto& sleeping = static_cast<sleep_awaiter&>(self);
    sleeping.where().disarm(sleeping.timer_);
  }

  time_point when_ = time_point::max();
  duration span_{};
  wake_timer timer_{*this};
};

}  // namespace detail

/// Suspends the task until `when`; never shorter. A time in the past lets the other work of the loop go first.
[[nodiscard]] inline auto sleep_until(time_point when) noexcept { return detail::sleep_awaiter(when); }

/// Suspends the task for at least `span`, counted from now.
template <typename Rep, typename Period>
[[nodiscard]] auto sleep_for(std::chrono::duration<Rep, Period> span) noexcept {
  return detail::sleep_awaiter(std::chrono::duration_cast<duration>(span));
}

}  // namespace braid
