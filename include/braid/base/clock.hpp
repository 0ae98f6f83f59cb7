// braid/base/clock.hpp: the clock for timers and deadlines, and a clock that tests advance by hand.
#pragma once

#include <braid/base/config.hpp>

#include <chrono>

namespace braid {

using namespace std::chrono_literals;

/// A duration in nanoseconds.
using duration = std::chrono::nanoseconds;
/// A point in time of the monotonic clock.
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

/// A source of the current time for a loop or timer service. The default is the monotonic clock of the system.
/// Threads: any may call `now`, unless a derived class restricts it.
class BRAID_API clock_source {
 public:
  clock_source() = default;
  clock_source(const clock_source&) = delete;
  auto operator=(const clock_source&) -> clock_source& = delete;
  virtual ~clock_source();

  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

/// Returns the monotonic clock of the system. Threads: any. Cost: about 25 ns.
BRAID_API auto steady_time() noexcept -> const clock_source&;

/// A clock for tests. Its time changes only when `advance` is called. Threads: one.
class BRAID_API manual_clock final : public clock_source {
 public:
  [[nodiscard]] auto now() const noexcept -> time_point override { return now_; }
  void advance(duration amount) noexcept { now_ += amount; }

 private:
  time_point now_{duration{1'000'000'000}};
};

}  // namespace braid
