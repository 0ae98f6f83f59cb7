// tests/support/running_clock.hpp: a clock that a test turns, and that moves on by a nanosecond with every reading.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

namespace braid::testing {

/// As real clocks do, it never says the same time twice: code that reads it twice and means one moment is found out.
/// Threads: any.
class running_clock final : public clock_source {
 public:
  [[nodiscard]] auto now() const noexcept -> time_point override {
    return time_point(duration(nanoseconds_.fetch_add(1, relaxed)));
  }
  void advance(duration by) noexcept { nanoseconds_.fetch_add(by.count(), relaxed); }

 private:
  mutable atomic<duration::rep> nanoseconds_{1'000'000'000};
};

}  // namespace braid::testing
