// braid/task/every_options.hpp: the options of periodic work, and the computation of its due times.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/task/detail/time_span.hpp>

#include <cstdint>
#include <optional>

namespace braid {

/// Selects the time from which the next run is counted.
enum class every_mode : std::uint8_t {
  fixed_rate,   ///< counted from the first tick: ticks are at `first + k · interval`, however long a run takes
  fixed_delay,  ///< counted from the end of the previous run
};

/// Selects what happens to missed ticks. A tick is missed if its time passes before its run can begin, because the
/// previous run was long or had to wait. With a fixed delay, no tick is missed.
enum class missed_ticks : std::uint8_t {
  burst,  ///< runs for all missed ticks follow at once
  skip,   ///< missed ticks are skipped; the next run is at the first tick in the future
  delay,  ///< one run at once replaces all missed runs, and ticks are counted from then on
};

/// The options of repeated work: the interval, and how missed ticks are treated.
struct every_options {
  detail::time_span interval = {};  ///< a duration of any unit; must be positive
  every_mode mode = every_mode::fixed_rate;
  missed_ticks missed = missed_ticks::skip;
  /// The first tick. Without a value, the first tick is at the current time. A tick that passed less than an interval
  /// ago is only late, and its run begins at once. A tick that passed earlier is missed.
  std::optional<time_point> first = std::nullopt;
};

namespace detail {

/// Computes the times of ticks.
struct tick_rule {
  duration interval = duration::zero();  // zero for a single run
  every_mode mode = every_mode::fixed_rate;
  missed_ticks missed = missed_ticks::burst;

  [[nodiscard]] constexpr auto repeats() const noexcept -> bool { return interval > duration::zero(); }

  /// Returns the time at which the run for `tick` is due, if no other run delays it. `now` is the current time. If the
  /// result is in the past, the run is due at once.
  [[nodiscard]] constexpr auto due(time_point tick, time_point now) const noexcept -> time_point {
    if (tick >= now || mode == every_mode::fixed_delay || missed == missed_ticks::burst) return tick;
    if (missed == missed_ticks::delay) return now;
    // The difference is unsigned, because it may be larger than a duration can hold.
    const auto behind = static_cast<std::uint64_t>(now.time_since_epoch().count()) -
                        static_cast<std::uint64_t>(tick.time_since_epoch().count());
    const auto past_a_tick = static_cast<duration::rep>(behind % static_cast<std::uint64_t>(interval.count()));
    if (past_a_tick == 0) return now;
    return later(now, interval - duration(past_a_tick)).value_or(time_point::max());
  }

  /// Returns the time at which the first run is due. A first tick that has just passed does not count as missed,
  /// because some time always passes between the caller's reading of the clock and this call.
  [[nodiscard]] constexpr auto first_due(time_point first, time_point now) const noexcept -> time_point {
    if (missed == missed_ticks::skip && first < now && later(first, interval).value_or(time_point::max()) > now)
      return first;
    return due(first, now);
  }

  /// Returns the time at which the next run is due, if the run for `tick` has ended at `now`. Returns
  /// time_point::max(), which is never reached, if the time would overflow.
  [[nodiscard]] constexpr auto after(time_point tick, time_point now) const noexcept -> time_point {
    const time_point from = mode == every_mode::fixed_delay ? now : tick;
    return due(later(from, interval).value_or(time_point::max()), now);
  }
};

}  // namespace detail
}  // namespace braid
