// rankd/server/admission/concurrency_limit.hpp: adapts the number of requests that may run at a time to the time that
// requests take.
#pragma once

#include <braid/base/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rankd {

/// An estimate of a plan's time without load: the shortest time among the last one to two thousand requests.
/// Threads: one at a time.
class unhindered_time {
 public:
  /// The minimum of the estimate. If a plan takes less time than this minimum, even a request that takes four times as
  /// long is no sign of overload.
  static constexpr braid::duration min_time = std::chrono::microseconds(250);

  /// Notes the time of a request. Returns the ratio of this time to the time without load, but at least 1.
  auto note(braid::duration took) noexcept -> double {
    shortest_ = std::min(shortest_, took);
    if (++seen_ == epoch) {
      before_ = shortest_;
      shortest_ = braid::duration::max();
      seen_ = 0;
    }
    const braid::duration known = std::max(min_time, std::min(before_, shortest_));
    return std::max(1.0, static_cast<double>(took.count()) / static_cast<double>(known.count()));
  }

 private:
  static constexpr std::uint32_t epoch = 1'024;

  braid::duration before_ = braid::duration::max();
  braid::duration shortest_ = braid::duration::max();
  std::uint32_t seen_ = 0;
};

/// A limit that grows while requests take only a little longer than without load, and shrinks when they take
/// `tolerance` times as long. docs/design/admission.md gives the reasons.
/// Threads: one at a time.
class concurrency_limit {
 public:
  static constexpr double tolerance = 4;
  static constexpr std::size_t min_limit = 4;

  /// Sets the initial limit to `max_limit`, which the limit never exceeds.
  explicit concurrency_limit(std::size_t max_limit) noexcept
      : max_limit_(static_cast<double>(std::max<std::size_t>(max_limit, 1))), limit_(max_limit_) {}

  [[nodiscard]] auto limit() const noexcept -> std::size_t { return static_cast<std::size_t>(limit_); }

  /// Takes into account a request that took `slowdown` times as long as without load. `under_way` is the number of
  /// requests that ran at that time, including this one.
  void note(double slowdown, std::size_t under_way) noexcept;

 private:
  void end_window() noexcept;

  double max_limit_;
  double limit_;
  double sum_ = 0;           // the sum of the slowdowns in this window
  std::size_t seen_ = 0;     // requests in this window
  std::size_t busiest_ = 0;  // the maximum number of running requests in this window
};

}  // namespace rankd
