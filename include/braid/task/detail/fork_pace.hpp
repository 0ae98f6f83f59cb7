// braid/task/detail/fork_pace.hpp: whether the forks of a worker are so short that some may be left out.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>
#include <limits>

namespace braid::detail {

/// Decides whether to skip a fork. Skipping one, so that it is two plain calls, saves nanoseconds, but costs the time
/// of a leaf if the leaf is long and a worker is idle, because no thief can find the second call. So forks are skipped
/// only after a series of forks that returned within a few nanoseconds each, and no more once a thief has asked.
/// Threads: the worker.
class fork_pace {
 public:
  /// `no_forks` is the number that stands for an empty deque (`split_deque::no_entries`).
  explicit fork_pace(const clock_source& clock, std::int64_t no_forks = 0) noexcept
      : clock_(clock), no_forks_(no_forks) {}

  /// Returns the number of private forks, above `no_forks`, that is enough, so that one more may be skipped.
  [[nodiscard]] auto enough() const noexcept -> std::int64_t { return enough_; }

  /// Returns the same for a loop, whose forks are halves of the rest.
  [[nodiscard]] auto enough_of_a_loop() const noexcept -> std::int64_t { return enough_of_a_loop_; }

  /// Called if a fork was useless: no thief took it from the worker's deque.
  void came_back() noexcept {
    if (enough_ == none) [[unlikely]]
      count();
  }

  /// A thief has asked.
  void was_asked() noexcept {
    enough_ = none;
    enough_of_a_loop_ = none;
    came_back_ = 0;
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t first_of_row = 8;  // small problems do not read the clock
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
  std::uint32_t came_back_ = 0;  // since the row began
  time_point row_began_;
};

}  // namespace braid::detail
