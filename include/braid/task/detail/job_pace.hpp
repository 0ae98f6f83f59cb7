// braid/task/detail/job_pace.hpp: measures how long the jobs of a worker take, so that other threads can judge the
// worker's backlog.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// A moving average over batches of jobs. Many short jobs are measured together, so that the cost of reading the clock
/// is negligible. A batch should take about ten microseconds. A single long batch may be misleading, because the thread
/// may have lost its processor. Therefore, of two consecutive batches, only the shorter one counts. Threads: only the
/// worker may call `job_begins` and `paused`; any thread may call the other functions.
class job_pace {
 public:
  explicit job_pace(const clock_source& clock) noexcept : clock_(&clock) {}

  /// Counts a job that is about to run. Returns true if a batch begins with this job; the worker then looks for other
  /// work.
  [[nodiscard]] auto job_begins() noexcept -> bool {
    if (--left_ != 0) return false;
    measure(clock_->now());
    return true;
  }

  /// Returns how many more jobs belong to the same batch.
  [[nodiscard]] auto left_in_batch() const noexcept -> std::uint32_t { return left_ - 1; }

  /// Records that `jobs` more jobs have begun, in addition to those for which `job_begins` was called.
  void have_begun(std::uint32_t jobs) noexcept { left_ -= std::min(jobs, left_ - 1); }

  /// Calls `back_off` in the middle of a batch. The time of this call is not counted as time of the jobs.
  template <typename Fn>
  void back_off_in(Fn&& back_off) noexcept {
    const time_point begin = clock_->now();
    back_off();
    const std::int64_t began = began_ns_.load(relaxed);
    if (began != 0) began_ns_.store(began + (clock_->now() - begin).count(), relaxed);
  }

  /// Runs `call`, whose time is not counted as time of the jobs. The worker counts as busy during the call. Returns the
  /// time at which the call ended.
  template <typename Fn>
  auto beside_jobs(Fn&& call) noexcept -> time_point {
    const std::int64_t begin = clock_->now().time_since_epoch().count();
    const std::int64_t began = began_ns_.load(relaxed);
    began_ns_.store(begin, relaxed);
    call();
    const time_point ended = clock_->now();
    const std::int64_t took = ended.time_since_epoch().count() - begin;
    began_ns_.store(began != 0 ? began + took : 0, relaxed);
    return ended;
  }

  /// Returns the time at which the current batch began, or at which the current call of `beside_jobs` began.
  [[nodiscard]] auto batch_began() const noexcept -> time_point {
    return time_point(duration(began_ns_.load(relaxed)));
  }

  /// Returns the time since the batch began.
  /// Cost: a read of the clock.
  [[nodiscard]] auto elapsed() const noexcept -> duration { return clock_->now() - batch_began(); }

  /// Records that the worker has nothing to run. The time until its next job is not counted as time of any job.
  void paused() noexcept {
    began_ns_.store(0, relaxed);
    left_ = 1;
  }

  /// Returns the average time per job, including the overhead of the queues.
  [[nodiscard]] auto average() const noexcept -> duration { return duration(average_ns_.load(relaxed)); }

  /// Returns whether the worker has a job to run.
  [[nodiscard]] auto is_running() const noexcept -> bool { return began_ns_.load(relaxed) != 0; }

  /// Returns whether the current batch has run for much longer than planned, because one of its jobs is long.
  [[nodiscard]] auto is_held_up() const noexcept -> bool {
    const std::int64_t began = began_ns_.load(relaxed);
    if (began == 0) return false;
    return clock_->now().time_since_epoch().count() - began > long_job_ns;
  }

 private:
  // docs/design/constants.md says what these values rest on.
  static constexpr std::uint32_t max_in_batch = 64;
  static constexpr std::int64_t batch_ns = 10'000;
  static constexpr std::int64_t long_job_ns = 100'000;
  static constexpr std::int64_t max_ns = 1'000'000'000;

  void measure(time_point now) noexcept {
    const std::int64_t now_ns = now.time_since_epoch().count();
    const std::int64_t began = began_ns_.load(relaxed);
    std::int64_t average = average_ns_.load(relaxed);
    if (began != 0) {
      const std::int64_t each = std::clamp<std::int64_t>((now_ns - began) / batch_, 1, max_ns);
      average = last_ns_ == 0 ? each : (3 * average + std::min(each, last_ns_)) / 4;
      last_ns_ = each;
      average_ns_.store(static_cast<std::uint32_t>(average), relaxed);
    }
    began_ns_.store(now_ns, relaxed);
    left_ = batch_ = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(batch_ns / std::max<std::int64_t>(average, 1), 1, max_in_batch));
  }

  const clock_source* clock_;
  std::uint32_t left_ = 1;  // jobs until the next read of the clock
  std::uint32_t batch_ = 1;
  std::int64_t last_ns_ = 0;  // the time per job in the previous batch; 0 if there was no batch
  // The average time of a job. It has its own cache line, because other threads may read it with each post, but the
  // worker writes it only once in a batch. Jobs of unknown length count as long, so that the first jobs wake workers.
  alignas(cache_line) atomic<std::uint32_t> average_ns_{100'000};  // written by the worker
  atomic<std::int64_t> began_ns_{0};  // when the batch began; 0 if the worker has nothing to run; written by the worker
};

}  // namespace braid::detail
