// braid/task/detail/fork_patience.hpp: how a worker waits if it finds no work to help with.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/detail/cpu_pause.hpp>

#include <algorithm>
#include <cstdint>

namespace braid::detail {

/// The waiting strategy of a worker: the worker polls for a while, then sleeps, and polls again after growing pauses.
/// Sleeping until a signal is not enough, because the worker would miss forks that other workers share during the wait.
class fork_patience {
 public:
  explicit fork_patience(std::uint32_t looks) noexcept : looks_(looks), left_(looks) {}

  /// Resets the strategy, because the worker found work.
  void restart() noexcept {
    left_ = looks_;
    pause_ = first_pause;
  }

  /// Waits until the next poll is due, or until `signal` is set. `signal` has the functions `is_set` and `wait`, like
  /// an end_signal.
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
  // docs/design/constants.md says what these values rest on.
  static constexpr duration first_pause = 50us;
  static constexpr duration max_pause = 1ms;

  const std::uint32_t looks_;
  std::uint32_t left_;
  duration pause_ = first_pause;
};

}  // namespace braid::detail
