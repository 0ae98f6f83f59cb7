// braid/task/detail/fork_patience.hpp: how a worker waits that has found nothing to help with.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/detail/cpu_pause.hpp>

#include <algorithm>
#include <cstdint>

namespace braid::detail {

/// Looks about itself for a while, then sleeps, and looks again after pauses that grow. It could sleep until it is
/// notified; but then it would not see what others have come to share meanwhile.
class fork_patience {
 public:
  explicit fork_patience(std::uint32_t looks) noexcept : looks_(looks), left_(looks) {}

  /// There was something to do.
  void restart() noexcept {
    left_ = looks_;
    pause_ = first_pause;
  }

  /// Until the next poll. `signal`: has `is_set` and `wait`, as an end_signal.
  template <typename Signal>
  void wait(Signal& signal) noexcept {
    if (left_ == 0) {
      signal.wait(steady_time().now() + pause_);
      pause_ = std::min(2 * pause_, max_pause);
      return;
    }
    --left_;
    for (int i = 0; i < 64 && !signal.is_set(); ++i) cpu_pause();
  }

  /// Returns whether it is time to sleep.
  [[nodiscard]] auto is_used_up() const noexcept -> bool { return left_ == 0; }

 private:
  static constexpr duration first_pause = 50us;
  static constexpr duration max_pause = 1ms;

  const std::uint32_t looks_;
  std::uint32_t left_;
  duration pause_ = first_pause;
};

}  // namespace braid::detail
