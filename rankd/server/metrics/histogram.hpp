// rankd/server/metrics/histogram.hpp: a histogram that counts durations in buckets with fixed upper bounds.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/trace/metric.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankd {

/// The buckets for whole requests.
struct request_bounds {
  static constexpr std::array seconds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                      0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};
};

/// The buckets for parts of a request. There are only a few buckets, because there are many parts.
struct part_bounds {
  static constexpr std::array seconds{0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0};
};

/// A histogram of durations. One additional bucket counts durations above the last bound. Threads: one at a time.
template <typename Bounds>
class histogram_of {
 public:
  static constexpr auto bounds = Bounds::seconds;

  void add(braid::duration span) noexcept {
    const double seconds = std::chrono::duration<double>(span).count();
    const auto at = std::ranges::lower_bound(bounds, seconds);
    ++counts_[static_cast<std::size_t>(at - bounds.begin())];
    seconds_ += seconds;
  }

  void add(const histogram_of& other) noexcept {
    for (std::size_t at = 0; at < counts_.size(); ++at) counts_[at] += other.counts_[at];
    seconds_ += other.seconds_;
  }

  /// Returns how many durations are at most `bounds[at]`. If `index` equals `bounds.size()`, returns the number of all
  /// durations.
  [[nodiscard]] auto up_to(std::size_t index) const noexcept -> std::uint64_t {
    std::uint64_t all = 0;
    for (std::size_t each = 0; each <= index; ++each) all += counts_[each];
    return all;
  }
  /// Returns cumulative counts. The last count is the total. Errors: std::bad_alloc.
  [[nodiscard]] auto buckets() const -> std::vector<braid::metric::bucket> {
    std::vector<braid::metric::bucket> all;
    all.reserve(counts_.size());
    for (std::size_t at = 0; at < bounds.size(); ++at) all.push_back({.bound = bounds[at], .count = up_to(at)});
    all.push_back({.bound = std::numeric_limits<double>::infinity(), .count = up_to(bounds.size())});
    return all;
  }
  [[nodiscard]] auto seconds() const noexcept -> double { return seconds_; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double seconds_ = 0;
};

using request_histogram = histogram_of<request_bounds>;
using part_histogram = histogram_of<part_bounds>;

}  // namespace rankd
