// braid/task/detail/job_times.hpp: samples how long jobs wait in the queues of an executor, and how long they run.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/task/job.hpp>
#include <braid/trace/detail/time_histogram.hpp>

#include <cstdint>

namespace braid::detail {

/// The number of posts of the calling thread until a job is timed. At 1 or less, the job of the next post is timed.
extern BRAID_API constinit thread_local std::int32_t posts_until_timed __attribute__((tls_model("initial-exec")));

/// Counts a post. Returns true if the posted job must be timed, and keeps returning true until a job was timed. If a
/// callable that is posted without a job must be timed, it is wrapped in a job.
/// Cost: a decrement and a branch.
[[nodiscard]] inline auto is_post_timed() noexcept -> bool {
#if defined(BRAID_NO_TRACE_HOOKS)
  return false;
#else
  return --posts_until_timed <= 0;
#endif
}

/// Histograms of the times of an executor's jobs. Only a sample of the jobs is timed. Each thread selects jobs among
/// its posts, about one job every 250 microseconds, and at least one of every 2047 jobs. A sample represents all jobs
/// that the thread has posted since its previous sample.
///
/// A job has no room to store a time. The function of a timed job is replaced. The replacement finds the time of the
/// post and the original function in a table of the process, by the address of the job. If the table is full, the job
/// is not timed, and the next timed job represents it.
/// Threads: any. Blocks: never. Lifetime: must exist until the last posted job has run.
/// Protocol: docs/design/job_times.md
class BRAID_API job_times {
 public:
  /// Constructs empty histograms. `clock` must outlive them.
  explicit job_times(const clock_source& clock = steady_time()) noexcept : clock_(&clock) {}

  /// Called before a job is queued. Cost: if the job is not timed, the same as for `is_post_timed`.
  void posted(job& work) noexcept {
    if (is_post_timed()) [[unlikely]]
      begin(work);
  }

  /// Undoes `posted` for a job that was not queued.
  static void refused(job& work) noexcept {
    if (is_timed(work)) [[unlikely]]
      forget(work);
  }

  /// Returns the original function of a job, whether the job is timed or not.
  /// Threads: the thread that has removed the job from its queue.
  [[nodiscard]] static auto code_of(const job& work) noexcept -> job::act_fn;

  [[nodiscard]] auto queued() const noexcept -> const time_histogram& { return queued_; }
  [[nodiscard]] auto ran() const noexcept -> const time_histogram& { return ran_; }

 private:
  [[nodiscard]] static auto is_timed(const job& work) noexcept -> bool { return work.act_ == &act; }
  static void act(job& work, job::action action);
  static void forget(job& work) noexcept;
  void begin(job& work) noexcept;

  const clock_source* clock_;
  time_histogram queued_;  // times from the post to the beginning
  time_histogram ran_;
};

}  // namespace braid::detail
