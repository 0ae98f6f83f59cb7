// braid/task/detail/job_pace.hpp: how long the jobs of one worker take, so that others know whether its backlog
// matters.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// A moving average over batches of jobs: short jobs are measured many at a time, so that a look at the clock costs
/// each of them next to nothing.
/// Threads: `job_begins` and `paused` from the worker, `average` from any.
class job_pace {
 public:
  explicit job_pace(const clock_source& clock) noexcept : clock_(&clock) {}

  /// A job is about to run.
  void job_begins() noexcept {
    if (--left_ == 0) measure(clock_->now());
  }

  /// The worker has nothing to run: the time until its next job is nobody's.
  void paused() noexcept {
    running_ = false;
    left_ = 1;
  }

  /// Of a job, with its way through the queues.
  [[nodiscard]] auto average() const noexcept -> duration { return duration(average_ns_.load(relaxed)); }

 private:
  static constexpr std::uint32_t most_in_batch = 64;
  static constexpr std::int64_t batch_ns = 10'000;
  static constexpr std::int64_t longest_ns = 1'000'000'000;

  void measure(time_point now) noexcept {
    std::int64_t average = average_ns_.load(relaxed);
    if (running_) {
      const std::int64_t each = std::clamp<std::int64_t>((now - since_).count() / batch_, 1, longest_ns);
      average = (3 * average + each) / 4;
      average_ns_.store(static_cast<std::uint32_t>(average), relaxed);
    }
    running_ = true;
    since_ = now;
    left_ = batch_ = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(batch_ns / std::max<std::int64_t>(average, 1), 1, most_in_batch));
  }

  const clock_source* clock_;
  // Jobs of which nothing is known yet count as long, so that the first of them wake workers.
  atomic<std::uint32_t> average_ns_{100'000};  // written by the worker
  std::uint32_t left_ = 1;                     // jobs until the next look at the clock
  std::uint32_t batch_ = 1;
  bool running_ = false;
  time_point since_;
};

}  // namespace braid::detail
