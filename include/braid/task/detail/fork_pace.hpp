// braid/task/detail/fork_pace.hpp: decides whether the forks of a worker are so short that some may be skipped.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>
#include <limits>

namespace braid::detail {

/// Decides whether to skip a fork, so that it becomes two plain calls. This saves a few nanoseconds. However, if the
/// calls are long and a worker is idle, the second call must wait for the first call, because no thief can find the
/// second call. So forks are skipped only after a series of forks that each took a few nanoseconds. When a thief
/// requests work, forks are no longer skipped.
/// Threads: the worker.
class fork_pace {
 public:
  /// Constructs the pace. `no_forks` is the value that represents an empty deque (`split_deque::no_entries`).
  explicit fork_pace(const clock_source& clock, std::int64_t no_forks = 0) noexcept
      : clock_(clock), no_forks_(no_forks) {}

  /// Returns the number of private forks in the deque from which on further forks may be skipped. The result includes
  /// `no_forks`.
  [[nodiscard]] auto enough() const noexcept -> std::int64_t { return enough_; }

  /// Returns the corresponding number for the forks of a parallel loop. It is smaller than `enough`, because each fork
  /// of a loop is one half of the loop's remaining elements.
  [[nodiscard]] auto enough_of_a_loop() const noexcept -> std::int64_t { return enough_of_a_loop_; }

  /// Called when a worker has taken back a fork that no thief has taken, so that the fork was useless.
  void came_back() noexcept {
    if (enough_ == none) [[unlikely]]
      count();
  }

  /// Called when a thief has requested work. From now on forks are not skipped.
  void was_asked() noexcept {
    enough_ = none;
    enough_of_a_loop_ = none;
    came_back_ = 0;
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  // docs/design/constants.md says what these values rest on.
  static constexpr std::uint32_t first_of_row = 8;  // shorter series do not read the clock
  static constexpr std::uint32_t last_of_row = 24;
  static constexpr duration of_short_row = 4us;

  void count() noexcept {
    if (++came_back_ == first_of_row) row_began_ = clock_.now();
    if (came_back_ != last_of_row) return;
    came_back_ = 0;
    if (clock_.now() - row_began_ > of_short_row) return;
    enough_ = no_forks_ + 4;
    enough_of_a_loop_ = no_forks_ + 1;
  }

  const clock_source& clock_;
  const std::int64_t no_forks_;
  std::int64_t enough_ = none;
  std::int64_t enough_of_a_loop_ = none;
  std::uint32_t came_back_ = 0;  // the number of useless forks since the series began
  time_point row_began_;
};

}  // namespace braid::detail
