// rankd/server/admission/concurrency_limit.cpp: changes the limit by one step after each window of requests.
#include <rankd/server/admission/concurrency_limit.hpp>

#include <cmath>

namespace rankd {
namespace {

constexpr std::size_t window = 64;
constexpr double max_slowdown = 16;  // the most that a single request counts
constexpr double steepest = 0.5;

}  // namespace

void concurrency_limit::note(double slowdown, std::size_t under_way) noexcept {
  sum_ += std::min(slowdown, max_slowdown);
  busiest_ = std::max(busiest_, under_way);
  if (++seen_ >= window) end_window();
}

/// Changes the limit by the mean slowdown of the window. If the window never used half of the limit, the limit does not
/// grow, because nothing shows that a higher limit is safe.
void concurrency_limit::end_window() noexcept {
  const double mean = sum_ / static_cast<double>(seen_);
  const double gradient = std::clamp(tolerance / mean, steepest, 1.0);
  const bool used = 2 * busiest_ >= limit();
  sum_ = 0;
  seen_ = 0;
  busiest_ = 0;
  if (gradient == 1.0 && !used) return;
  const double lowest = std::min(static_cast<double>(min_limit), max_limit_);
  const double room = gradient < 1.0 ? 0.0 : std::sqrt(limit_);
  limit_ = std::clamp(limit_ * gradient + room, lowest, max_limit_);
}

}  // namespace rankd
