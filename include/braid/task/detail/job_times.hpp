// braid/task/detail/job_times.hpp: how long jobs wait in the queues of an executor, and how long they run, by samples.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/task/job.hpp>
#include <braid/trace/detail/time_histogram.hpp>

#include <cstdint>

namespace braid::detail {

/// How many posts of the calling thread there are up to the next one whose job is timed, that one included. Below one
/// it is the next job.
extern BRAID_API constinit thread_local std::int32_t posts_until_timed __attribute__((tls_model("initial-exec")));

/// Counts a post. True where its job is to be timed, and until one is. A callable that is posted without a job becomes
/// one then. Cost: a decrement and a branch.
[[nodiscard]] inline auto is_post_timed() noexcept -> bool {
#if defined(BRAID_NO_TRACE_HOOKS)
  return false;
#else
  return --posts_until_timed <= 0;
#endif
}

/// Histograms of the times of an executor's jobs. Few of them are timed: each thread chooses among its posts, so that
/// about one in 250 microseconds is, and at least one in 2047. What was measured of one counts for all that the thread
/// has posted since the one before.
///
/// A job has no room for a time. One that is timed gets another function, which finds the time of the post and the
/// function that the job had in a table of the process, by the address of the job. Where the table has no place left
/// the job is not timed, and the next one stands for it.
/// Threads: any. Blocks: never. Lifetime: until the last job that was posted has run.
/// Protocol: docs/design/job_times.md
class BRAID_API job_times {
 public:
  /// `clock` outlives it.
  explicit job_times(const clock_source& clock = steady_time()) noexcept : clock_(&clock) {}

  /// Before a job is queued. Cost: where it is not timed, that of `is_post_timed`.
  void posted(job& work) noexcept {
    if (is_post_timed()) [[unlikely]]
      begin(work);
  }

  /// A job was not queued after all: it is as it was before.
  static void refused(job& work) noexcept {
    if (is_timed(work)) [[unlikely]]
      forget(work);
  }

  /// The function of a job, whether it is timed or not. Threads: the one that has taken the job out of its queue.
  [[nodiscard]] static auto code_of(const job& work) noexcept -> job::act_fn;

  [[nodiscard]] auto queued() const noexcept -> const time_histogram& { return queued_; }
  [[nodiscard]] auto ran() const noexcept -> const time_histogram& { return ran_; }

 private:
  [[nodiscard]] static auto is_timed(const job& work) noexcept -> bool { return work.act_ == &act; }
  static void act(job& work, job::action what);
  static void forget(job& work) noexcept;
  void begin(job& work) noexcept;

  const clock_source* clock_;
  time_histogram queued_;  // from the post to the beginning
  time_histogram ran_;
};

}  // namespace braid::detail
