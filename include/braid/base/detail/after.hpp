// braid/base/detail/after.hpp: computes the point in time that is a given duration from now, for durations of any unit
// and size.
#pragma once

#include <braid/base/clock.hpp>

#include <chrono>

namespace braid::detail {

/// Returns `now + span`, rounded up to nanoseconds. Returns the latest time_point if the span is longer than a century,
/// and `now` if the span is not positive. Requires that `now` is within a century of the clock's epoch.
template <typename Rep, typename Period>
constexpr auto after(time_point now, std::chrono::duration<Rep, Period> span) noexcept -> time_point {
  using seconds = std::chrono::duration<double>;  // holds every span, though not exactly
  if (!(span > span.zero())) return now;
  if (std::chrono::duration_cast<seconds>(span) > seconds(std::chrono::years(100))) return time_point::max();
  return now + std::chrono::ceil<duration>(span);
}

}  // namespace braid::detail
