// braid/task/scheduled.hpp: running a function on an executor at a time, after a time, or periodically.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/detail/scheduled_state.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/every_options.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/scheduled_task.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

/// What can be run once at its time: takes nothing, or the handle of itself.
template <typename Fn>
concept scheduled_function =
    std::move_constructible<std::decay_t<Fn>> &&
    (std::invocable<std::decay_t<Fn>&&, const scheduled_task&> || std::invocable<std::decay_t<Fn>&&>);

/// What can be run again and again: takes nothing, or the handle of itself, by which it can end the series.
template <typename Fn>
concept periodic_function =
    std::move_constructible<std::decay_t<Fn>> &&
    (std::invocable<std::decay_t<Fn>&, const scheduled_task&> || std::invocable<std::decay_t<Fn>&>);

namespace detail {

enum class repeats : std::uint8_t { no, yes };

/// Scheduled work with its function, in a block of `allocate_job`.
template <typename Fn, repeats Repeats>
class scheduled_closure final : public scheduled_state {
 public:
  /// `now` is the time that `first` was computed from. Errors: errc::closed where the timers are closed.
  template <typename F>
  [[nodiscard]] static auto start(executor& where, const shared_timers& timers, tick_rule rule, time_point first,
                                  time_point now, F&& fn) -> result<scheduled_task>;

  template <typename F>
  scheduled_closure(executor_id where, std::shared_ptr<timer_keeper> keeper, tick_rule rule, F&& fn)
      : scheduled_state(where, std::move(keeper), rule), fn_(std::forward<F>(fn)) {}

 private:
  // A function that runs once is called as an rvalue, one that repeats is not.
  using callee = std::conditional_t<Repeats == repeats::yes, Fn&, Fn&&>;

  void call() override;
  void destroy_captures() noexcept override { fn_.reset(); }
  void destroy() noexcept override {
    std::destroy_at(this);
    free_block<scheduled_closure>(this);
  }

  std::optional<Fn> fn_;
};

template <typename Fn, repeats Repeats>
void scheduled_closure<Fn, Repeats>::call() {
  if constexpr (std::invocable<callee, const scheduled_task&>) {
    keep();
    std::invoke(static_cast<callee>(*fn_), scheduled_task::adopt(*this));
  } else {
    std::invoke(static_cast<callee>(*fn_));
  }
}

template <typename Fn, repeats Repeats>
template <typename F>
auto scheduled_closure<Fn, Repeats>::start(executor& where, const shared_timers& timers, tick_rule rule,
                                           time_point first, time_point now, F&& fn) -> result<scheduled_task> {
  void* place = allocate_block<scheduled_closure>();
  scheduled_closure* work = nullptr;
  try {
    work = std::construct_at(static_cast<scheduled_closure*>(place), where.id(), timers.keeper(), rule,
                             std::forward<F>(fn));
  } catch (...) {
    free_block<scheduled_closure>(place);
    throw;
  }
  auto handle = scheduled_task::adopt(*work);
  if (!work->scheduled_state::start(first, now)) return fail(errc::closed);
  return handle;
}

}  // namespace detail

/// Runs `fn` on `where` once, not before `when`; at once where that has passed. What it throws goes to the executor's
/// error report.
/// Threads: any. Errors: errc::closed when the timers are closed. That the executor is closed by the time of a run, or
/// drops it, is seen in the status of the task.
/// Lifetime: `where` may be gone by then, which ends the task as `refused`.
/// Cost: one allocation from the lists of `allocate_job`, and one arming of a timer.
template <scheduled_function Fn>
[[nodiscard]] auto post_at(executor& where, detail::shared_timers& timers, time_point when, Fn&& fn)
    -> result<scheduled_task> {
  using closure = detail::scheduled_closure<std::decay_t<Fn>, detail::repeats::no>;
  return closure::start(where, timers, {}, when, timers.now(), std::forward<Fn>(fn));
}

/// As `post_at`, `delay` from now: a duration of any unit. Threads, lifetime, cost: as there.
/// Errors: also errc::invalid_argument for one that is negative or leads beyond the end of time.
template <scheduled_function Fn>
[[nodiscard]] auto post_after(executor& where, detail::shared_timers& timers, detail::time_span delay, Fn&& fn)
    -> result<scheduled_task> {
  const auto when = detail::later(timers.now(), delay.value());
  if (delay.value() < duration::zero() || !when) return fail(errc::invalid_argument);
  return post_at(where, timers, *when, std::forward<Fn>(fn));
}

/// Runs `fn` on `where` again and again, until the task is cancelled, the executor refuses or drops a run, or the
/// timers are closed. A run begins after the one before has ended, whatever the executor. What it throws goes to the
/// executor's error report, and the series goes on.
/// Threads, Lifetime, Cost: as `post_at`.
/// Errors: errc::closed when the timers are closed; errc::bad_interval for an interval that is not positive or
/// leads beyond the end of time.
template <periodic_function Fn>
[[nodiscard]] auto post_every(executor& where, detail::shared_timers& timers, every_options how, Fn&& fn)
    -> result<scheduled_task> {
  using closure = detail::scheduled_closure<std::decay_t<Fn>, detail::repeats::yes>;
  const detail::tick_rule rule{.interval = how.interval.value(), .mode = how.mode, .missed = how.missed};
  const time_point now = timers.now();
  if (!rule.repeats() || !detail::later(now, rule.interval)) return fail(errc::bad_interval);
  return closure::start(where, timers, rule, how.first.value_or(now), now, std::forward<Fn>(fn));
}

}  // namespace braid
