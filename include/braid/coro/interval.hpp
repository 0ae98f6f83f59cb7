// braid/coro/interval.hpp: due times at a fixed rate that a task awaits one after the other.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/clock.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/every_options.hpp>

#include <cstdint>
#include <optional>

namespace braid {

/// Ticks for a task, as Tokio's interval and Go's Ticker: `co_await ticks.next()` at the head of a loop. At a fixed
/// rate they do not drift, however long the task is busy between two of them. No thread, no memory and no timer is in
/// use while nothing waits. Threads: one task at a time. Lifetime: outlives the waits for its ticks; not moved while
/// one is under way.
class interval {
 public:
  /// Without `first` the first tick is an interval after the first call of `next`. With `missed_ticks::skip` it is at
  /// the next time that is still to come when a tick was missed, with `delay` at once and counted from then on, with
  /// `burst` each is made up for. Requires an interval that is positive.
  explicit interval(every_options how) noexcept
      : rule_{.interval = how.interval.value(), .mode = how.mode, .missed = how.missed}, first_(how.first) {
    BRAID_EXPECTS(rule_.repeats(), "the interval between two ticks is positive");
  }

  /// Waits for the next tick. The result, a std::uint64_t, says how many ticks before it were left out, because they
  /// had passed by the call. Blocks: no thread. A stop ends the wait early, and the task as stopped; the tick is not
  /// used up.
  [[nodiscard]] auto next() noexcept { return detail::sleep_awaiter(next_tick{.of = this}); }

 private:
  /// What `sleep_awaiter` waits for, and gives.
  struct next_tick {
    interval* of;
    time_point when{};
    std::uint64_t left_out = 0;

    [[nodiscard]] auto due(const home& where) noexcept -> time_point {
      const time_point now = where.now();
      const bool is_first = !of->last_ && of->first_;
      // A wait that ends early leaves its tick to the next one.
      if (!of->wanted_) of->wanted_ = is_first ? *of->first_ : of->after_last(now);
      const time_point wanted = *of->wanted_;
      when = is_first ? of->rule_.first_due(wanted, now) : of->rule_.due(wanted, now);
      // As unsigned numbers, because the difference may be more than a duration can hold.
      const auto moved = static_cast<std::uint64_t>(when.time_since_epoch().count()) -
                         static_cast<std::uint64_t>(wanted.time_since_epoch().count());
      left_out = moved / static_cast<std::uint64_t>(of->rule_.interval.count());
      return when > now ? when : time_point::min();  // what is now would be rounded up
    }
    auto woken() const noexcept -> std::uint64_t {
      of->last_ = when;
      of->wanted_.reset();
      return left_out;
    }
  };

  /// The tick after the last one, whether it has passed or not.
  [[nodiscard]] auto after_last(time_point now) const noexcept -> time_point {
    const bool from_now = !last_ || rule_.mode == every_mode::fixed_delay;
    return detail::later(from_now ? now : *last_, rule_.interval).value_or(time_point::max());
  }

  detail::tick_rule rule_;
  std::optional<time_point> first_;
  std::optional<time_point> last_;    // the tick that was given last
  std::optional<time_point> wanted_;  // the tick that is waited for, from the first wait on
};

/// The ticks of an interval, the first one of which comes after the first: `auto ticks = every(1s);`. What is missed is
/// left out and counted.
[[nodiscard]] inline auto every(detail::time_span span) noexcept -> interval { return interval({.interval = span}); }

}  // namespace braid
