// braid/trace/detail/time_histogram.hpp: a histogram of durations that any thread can update.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/trace/metric.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace braid::detail {

/// A histogram with two buckets per decade from a microsecond to a second, one bucket for times up to ten seconds, and
/// one bucket for longer times.
/// Threads: any.
/// Blocks: never.
class BRAID_API time_histogram {
 public:
  static constexpr std::array<duration, 14> bounds{1us, 3us,  10us, 30us,  100us, 300us, 1ms,
                                                   3ms, 10ms, 30ms, 100ms, 300ms, 1s,    10s};

  /// Adds a measured time `weight` times. Use a weight above 1 if only one of several times was measured. A negative
  /// time counts as zero.
  void add(duration span, std::uint64_t weight = 1) noexcept;

  /// Returns the sum of all times.
  [[nodiscard]] auto seconds() const noexcept -> double;

  /// Returns cumulative counts; the last count is the total. Errors: std::bad_alloc.
  [[nodiscard]] auto buckets() const -> std::vector<metric::bucket>;

 private:
  // The counts of the buckets, which are not cumulative. Any thread may write them.
  std::array<atomic<std::uint64_t>, bounds.size() + 1> counts_{};
  atomic<std::uint64_t> sum_ns_{0};  // the sum of all times; written by any thread
};

}  // namespace braid::detail
