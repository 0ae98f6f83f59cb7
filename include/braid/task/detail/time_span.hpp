// braid/task/detail/time_span.hpp: durations of any unit as parameters, and additions that detect overflow.
#pragma once

#include <braid/base/clock.hpp>

#include <chrono>
#include <optional>

namespace braid::detail {

/// A duration of any unit, which is converted to nanoseconds and rounded up. A duration that is out of range becomes
/// the longest or the shortest duration. NaN becomes the shortest duration.
class time_span {
 public:
  constexpr time_span() noexcept = default;

  template <typename Rep, typename Period>
  constexpr time_span(std::chrono::duration<Rep, Period> span) noexcept  // NOLINT: stands for a duration
      : value_(converted(span)) {}

  [[nodiscard]] constexpr auto value() const noexcept -> duration { return value_; }

 private:
  template <typename Rep, typename Period>
  static constexpr auto converted(std::chrono::duration<Rep, Period> span) noexcept -> duration {
    using seconds = std::chrono::duration<double>;  // holds every span, though not exactly
    constexpr seconds limit(9.2e9);
    const auto rough = std::chrono::duration_cast<seconds>(span);
    if (rough >= limit) return duration::max();
    if (!(rough > -limit)) return duration::min();
    return std::chrono::ceil<duration>(span);
  }

  duration value_ = duration::zero();
};

/// Returns `time + span`, or nothing if no time_point can represent it.
constexpr auto later(time_point time, duration span) noexcept -> std::optional<time_point> {
  duration::rep sum = 0;
  if (__builtin_add_overflow(time.time_since_epoch().count(), span.count(), &sum)) return std::nullopt;
  return time_point(duration(sum));
}

}  // namespace braid::detail
