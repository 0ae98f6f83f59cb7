// src/trace/time_histogram.cpp: adds durations to the buckets of a histogram, and returns the counts of the buckets.
#include <braid/trace/detail/time_histogram.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace braid::detail {

void time_histogram::add(duration span, std::uint64_t weight) noexcept {
  const auto at = std::ranges::lower_bound(bounds, span);
  counts_[static_cast<std::size_t>(at - bounds.begin())].fetch_add(weight, relaxed);
  sum_ns_.fetch_add(static_cast<std::uint64_t>(std::max(span, duration::zero()).count()) * weight, relaxed);
}

auto time_histogram::seconds() const noexcept -> double {
  return std::chrono::duration<double>(std::chrono::duration<double, std::nano>(sum_ns_.load(relaxed))).count();
}

auto time_histogram::buckets() const -> std::vector<metric::bucket> {
  std::vector<metric::bucket> all;
  all.reserve(counts_.size());
  std::uint64_t so_far = 0;
  for (std::size_t at = 0; at < counts_.size(); ++at) {
    so_far += counts_[at].load(relaxed);
    const double bound = at < bounds.size() ? std::chrono::duration<double>(bounds[at]).count()
                                            : std::numeric_limits<double>::infinity();
    all.push_back({.bound = bound, .count = so_far});
  }
  return all;
}

}  // namespace braid::detail
