// braid/task/inline_executor.hpp: an executor without threads or queues, for code that must run without concurrency.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>

#include <utility>

namespace braid {

/// An executor that runs each job on the thread that posts it, before the post returns. If a job posts another job to
/// this executor, the second job runs after the first has ended. So long chains of such jobs do not overflow the stack.
/// The destructor waits for jobs that run on other threads.
/// Threads: any; jobs of this executor must not call `wait_idle`, `shutdown`, `shutdown_for` or the destructor. Blocks:
/// a post blocks as long as its job runs.
class BRAID_API inline_executor final : public detail::threadless {
 public:
  /// Constructs the executor. `on_error` receives exceptions of posted jobs; without it, the message goes to stderr.
  /// Errors: std::bad_alloc.
  explicit inline_executor(error_callback on_error = {}) : threadless(std::move(on_error)) {}
  ~inline_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  /// Runs the job. The priority has no effect, because no job waits in a queue.
  [[nodiscard]] auto try_post(job& work, priority /*level*/) noexcept -> bool { return try_post(work); }

  /// Blocks until no thread runs a job of this executor.
  /// Errors: would_deadlock in a job of this executor.
  [[nodiscard]] auto wait_idle() -> result<void>;

  /// Refuses new jobs, and blocks until jobs that run on other threads have ended. A job that was posted by a running
  /// job waits for the end of that job; `mode` decides whether such waiting jobs are run or dropped. Errors:
  /// would_deadlock in a job of this executor, which stays usable.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Shuts down as `shutdown` with the mode `drain` does, but waits at most `limit`. After that time, waiting jobs are
  /// dropped, a stop is requested, and the call returns while the last jobs still run.
  /// Errors: deadline_exceeded if the jobs did not end within `limit`; would_deadlock in a job of this executor.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 private:
  atomic<bool> drops_{false};  // whether jobs that wait are dropped; written once
};

}  // namespace braid
