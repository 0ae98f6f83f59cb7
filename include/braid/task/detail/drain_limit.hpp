// braid/task/detail/drain_limit.hpp: the time slice of a serial executor: limits how long it runs jobs before other
// work runs.
#pragma once

#include <braid/base/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// Limits a drain by the number of jobs and by time. Reading the clock costs as much as two or three short jobs.
/// Therefore the clock is read only after the first, second, fourth job and so on. If previous drains reached the limit
/// for the number of jobs, the jobs are short. Then the clock is read only in every fourth drain, after the 16th and
/// the 32nd job. The time before the first reading is not measured, because most drains run only one or two jobs and do
/// not read the clock. Threads: the thread that drains.
class drain_limit {
 public:
  // docs/design/constants.md says what these values rest on.
  static constexpr std::size_t max_consecutive = 64;  // jobs
  static constexpr duration max_time = 100us;         // about: jobs are not interrupted, and not all are measured

  /// Runs one drain, and returns the result of `drain(is_over)`. The drain calls `is_over(ran)` before each job, with
  /// the number of jobs that have run in this drain. After the last such call, this object may be destroyed.
  template <typename Now, typename Fn>
  auto in_drain(Now now, Fn drain) noexcept {
    // While the clock is not read, the compiler can treat the limit as a constant. This saves half a nanosecond per
    // job.
    if (first_look_ == max_consecutive)
      return drain([this](std::size_t ran) {
        if (ran < max_consecutive) return false;
        note_whole_drain();
        return true;
      });
    return drain([this, now, look = std::size_t{first_look_}, first_seen = time_point()](std::size_t ran) mutable {
      if (ran < look) return false;
      const std::size_t next = next_look(ran, now, first_seen);
      look = std::max(next, ran + 1);
      return next == ran;
    });
  }

 private:
  // The limits that apply if earlier jobs were short: the number of jobs that run before the clock is read for the
  // first time, and the number of drains between two readings of the clock.
  static constexpr std::size_t short_jobs = 16;
  static constexpr std::size_t drains_between_looks = 4;

  /// Returns the number of jobs after which the limit must be checked again. Returns `ran` if the drain is over.
  template <typename Now>
  [[gnu::noinline]] auto next_look(std::size_t ran, Now& now, time_point& first_seen) noexcept -> std::size_t {
    if (ran >= max_consecutive) {
      note_whole_drain();
      return ran;
    }
    const time_point seen = now();
    if (first_seen == time_point()) first_seen = seen;
    if (seen - first_seen < max_time) return 2 * ran;
    first_look_ = 1;
    whole_drains_ = 0;
    return ran;
  }

  void note_whole_drain() noexcept {
    const bool is_measured_next = ++whole_drains_ % drains_between_looks == 0;
    first_look_ = static_cast<std::uint8_t>(is_measured_next ? short_jobs : max_consecutive);
  }

  std::uint8_t first_look_ = 1;    // the number of jobs before the first read of the clock in a drain
  std::uint8_t whole_drains_ = 0;  // consecutive drains that ended by the number of jobs
};

}  // namespace braid::detail
