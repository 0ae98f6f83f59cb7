// braid/coro/sleep.hpp: suspends tasks until a time, for a duration, at regular intervals, or until other work has run.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/home.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/every_options.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace braid {

namespace detail {

extern BRAID_API const wait_layout sleep_wait_layout;

// Each of the following types computes the time at which a sleep ends. Its first member, `when`, holds that time after
// `due` was called. Debuggers read `when`.

struct at_time {
  time_point when;
  [[nodiscard]] auto due(const home& /*home*/) const noexcept -> time_point { return when; }
};

class after_span {
 public:
  explicit after_span(time_span span) noexcept : when(span.value()) {}

  [[nodiscard]] auto due(const home& home) noexcept -> time_point {
    const duration span = when.time_since_epoch();
    // A sleep for a span that is not positive ends at once. Without this case, the timer would fire only at the next
    // tick of the timer wheel.
    when = span > span.zero() ? after(home.now(), span) : time_point::min();
    return when;
  }

  time_point when;  // before `due`, the span as the time since the epoch
};

template <typename When>
class [[nodiscard, gnu::warn_unused]] sleep_awaiter final : awaiter_base, timer {
 public:
  explicit sleep_awaiter(When until) noexcept : awaiter_base(functions), timer(&fired), until_(until) {}
  /// Requires that `other` has not been awaited.
  sleep_awaiter(sleep_awaiter&& other) noexcept : sleep_awaiter(other.until_) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }

  auto await_resume() const noexcept {
    if constexpr (requires { until_.woken(); }) return until_.woken();
  }

 private:
  friend struct debug_layout;
  static void fired(timer& self) noexcept { static_cast<sleep_awaiter&>(self).complete(); }
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& sleeping = static_cast<sleep_awaiter&>(self);
    const time_point due = sleeping.until_.due(sleeping.where());
    if (is_traced()) [[unlikely]]
      sleeping.trace_due(due);
    sleeping.where().arm(sleeping, due);
    return {};
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& sleeping = static_cast<sleep_awaiter&>(self);
    sleeping.where().disarm(sleeping);
    return withdrawal::done;
  }
  static void describe(const awaiter_base& self, std::string& text) {
    const auto& sleeping = static_cast<const sleep_awaiter&>(self);
    describe_time_left(text, sleeping.until_.when, sleeping.where().now());
  }
  static constexpr operation functions{&start, &withdraw, "sleep", &describe, nullptr, &sleep_wait_layout};

  When until_;  // at the same offset for each `When`, so that debuggers find it
};

}  // namespace detail

/// Suspends the task at least until `time`. If the time is in the past, the other work of the loop runs first. Threads:
/// any; a task that runs on another executor returns to its home first. Blocks: no thread. A stop ends the sleep early,
/// and the task ends as stopped.
[[nodiscard]] inline auto sleep_until(time_point time) noexcept { return detail::sleep_awaiter(detail::at_time{time}); }

/// Suspends the task for at least `span`, counted from the start of the await. If the span is not positive, the other
/// work of the loop runs first. A span of more than a century never ends. Threads, blocks and stops: the same as for
/// `sleep_until`.
template <typename Rep, typename Period>
[[nodiscard]] auto sleep_for(std::chrono::duration<Rep, Period> span) noexcept {
  return detail::sleep_awaiter(detail::after_span(span));
}

/// A source of periodic ticks for a task, like Tokio's interval and Go's Ticker: call `co_await ticks.next()` at the
/// start of a loop body. At a fixed rate the ticks do not drift, even if the task is busy for a long time between them.
/// While no task waits, the interval uses no thread, memory or timer. Threads: one task at a time. Lifetime: must
/// outlive the waits for its ticks, and must not be moved during a wait.
class interval {
 public:
  /// Constructs an interval. Without `first`, the first tick is one interval after the first call of `next`.
  /// `missed_ticks` determines what happens after a missed tick. With `skip`, the next tick is at the next regular time
  /// in the future. With `delay`, the next tick is at once, and the times of later ticks are counted from it. With
  /// `burst`, all missed ticks follow at once.
  /// Errors: throws std::system_error with errc::bad_interval, as `post_every` does, if the interval is not positive.
  explicit interval(every_options options)
      : rule_{.interval = options.interval.value(), .mode = options.mode, .missed = options.missed},
        first_(options.first) {
    if (!rule_.repeats()) throw std::system_error(errc::bad_interval, "the interval between two ticks");
  }

  /// Waits for the next tick. Returns the number of skipped ticks as std::uint64_t: the earlier ticks whose time had
  /// passed before the call. Blocks: no thread. A stop ends the wait early, and the task ends as stopped; the tick is
  /// not used up.
  [[nodiscard]] auto next() noexcept { return detail::sleep_awaiter(next_tick{.when = {}, .of = this}); }

 private:
  /// Computes the time of the next tick for a `sleep_awaiter`, and stores the result of the wait.
  struct next_tick {
    time_point when;
    interval* of;
    std::uint64_t left_out = 0;

    [[nodiscard]] auto due(const home& home) noexcept -> time_point {
      const time_point now = home.now();
      const bool is_first = !of->last_ && of->first_;
      // If a wait has ended early, the next wait is for the same tick.
      if (!of->wanted_) of->wanted_ = is_first ? *of->first_ : of->after_last(now);
      const time_point wanted = *of->wanted_;
      when = is_first ? of->rule_.first_due(wanted, now) : of->rule_.due(wanted, now);
      // The difference is unsigned, because it may be larger than a duration can hold.
      const auto moved = static_cast<std::uint64_t>(when.time_since_epoch().count()) -
                         static_cast<std::uint64_t>(wanted.time_since_epoch().count());
      left_out = moved / static_cast<std::uint64_t>(of->rule_.interval.count());
      return when > now ? when : time_point::min();  // the timer would round the current time up
    }
    auto woken() const noexcept -> std::uint64_t {
      of->last_ = when;
      of->wanted_.reset();
      return left_out;
    }
  };

  /// Returns the time of the tick that follows the last tick. This time may already have passed.
  [[nodiscard]] auto after_last(time_point now) const noexcept -> time_point {
    const bool from_now = !last_ || rule_.mode == every_mode::fixed_delay;
    return detail::later(from_now ? now : *last_, rule_.interval).value_or(time_point::max());
  }

  detail::tick_rule rule_;
  std::optional<time_point> first_;
  std::optional<time_point> last_;    // the tick that was returned last
  std::optional<time_point> wanted_;  // the tick that is waited for, from the first wait on
};

/// Returns an interval: `auto ticks = every(1s);`. The first tick comes after one interval. Missed ticks are skipped
/// and counted.
/// Errors: throws as `interval` does.
[[nodiscard]] inline auto every(detail::time_span span) -> interval { return interval({.interval = span}); }

namespace detail {

class [[nodiscard, gnu::warn_unused]] yield_awaiter final : awaiter_base {
 public:
  yield_awaiter() noexcept : awaiter_base(functions) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    if (self.promise().where() == nullptr) return transfer_to(self);
    return transfer_to(suspend(self.promise(), place));
  }
  void await_resume() const noexcept {}

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    static_cast<yield_awaiter&>(self).complete_later();
    return {};
  }
  static auto withdraw(awaiter_base& /*self*/) noexcept -> withdrawal { return withdrawal::done; }
  static constexpr operation functions{&start, &withdraw, "yield"};
};

}  // namespace detail

/// `co_await yield()` runs all other ready work of the task's home (the serial executor that the task is bound to)
/// before the task continues. A task without a home continues at once.
/// Threads: any; a task that runs on another executor returns to its home first. Blocks: no thread. In a stopped scope
/// the task ends as stopped, so `yield` makes a long computation stoppable.
[[nodiscard]] inline auto yield() noexcept { return detail::yield_awaiter(); }

}  // namespace braid
