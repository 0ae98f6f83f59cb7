// braid/task/manual_executor.hpp: an executor without threads, whose jobs run on threads that poll or wait.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>

#include <cstdint>
#include <mutex>

namespace braid {

/// An executor that queues jobs until a thread runs them. A thread runs them in `poll`, in `wait_idle`, or while it
/// waits for a future or a group of this executor. The thread that created the executor runs them during any wait. Jobs
/// run one at a time; jobs of the same priority run in the order in which they were posted. Forks of a job run at once,
/// on the same thread. The destructor runs the remaining jobs.
/// Threads: any; jobs of this executor must not call `wait_idle`, `shutdown`, `shutdown_for` or the destructor.
class BRAID_API manual_executor final : public detail::threadless {
 public:
  /// Constructs the executor. `on_error` receives exceptions of posted jobs; without it, the message goes to stderr.
  /// Errors: std::bad_alloc.
  explicit manual_executor(error_callback on_error = {});
  ~manual_executor() override;

  /// Queues the job without allocating memory.
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override { return try_post(work, priority::normal); }
  [[nodiscard]] auto try_post(job& work, priority level) noexcept -> bool;

  /// Runs one waiting job. Returns false if no job waits, or while another thread runs jobs of this executor.
  [[nodiscard]] auto poll() noexcept -> bool override;
  [[nodiscard]] auto needs_polls() const noexcept -> bool override { return true; }

  /// Runs jobs until no job is left. Blocks: until no job is left, even if another thread runs jobs of this executor.
  /// Errors: would_deadlock in a job of this executor.
  [[nodiscard]] auto wait_idle() -> result<void>;

  /// Refuses new jobs, and runs or drops the waiting jobs according to `mode`. You may call it several times and from
  /// several threads. Errors: would_deadlock in a job of this executor, which stays usable.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Shuts down as `shutdown` with the mode `drain` does, but waits at most `limit`. After that time, waiting jobs are
  /// dropped, a stop is requested, and the call returns, even if another thread still runs a job.
  /// Errors: deadline_exceeded if the jobs did not end within `limit`; would_deadlock in a job of this executor.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 private:
  void close() noexcept;
  void drop_pending() noexcept;
  void await_drops() noexcept;
  [[nodiscard]] auto take() noexcept -> job*;
  auto run_next() noexcept -> bool;
  [[nodiscard]] auto run_until(time_point deadline) noexcept -> bool;
  [[nodiscard]] auto has_none() const noexcept -> bool { return high_.empty() && normal_.empty() && low_.empty(); }

  detail::common_queue high_;
  detail::common_queue normal_;
  detail::common_queue low_;
  std::timed_mutex running_;  // held by the thread that runs jobs
  // Only the thread that runs jobs uses this member (see running_).
  std::uint32_t consecutive_high_ = 0;                   // how many jobs of priority `high` have run ahead of others
  std::uint32_t until_low_ = detail::polls_between_low;  // searches for work until one begins with priority `low`
};

}  // namespace braid
