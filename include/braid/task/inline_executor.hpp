// braid/task/inline_executor.hpp: an executor without threads and queues, for code that runs without concurrency.
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

/// An executor that runs each job on the thread that posts it, before the post returns. A job that such a job posts
/// runs when that one has ended, so that jobs which post the next one do not use up the stack. The destructor waits
/// for the jobs of other threads.
/// Threads: any; `wait_idle`, the shutdowns and the destructor not from one of its jobs. Blocks: a post blocks as its
/// job does.
class BRAID_API inline_executor final : public detail::threadless {
 public:
  /// `on_error` receives what a posted job throws; without it the message goes to stderr. Errors: std::bad_alloc.
  explicit inline_executor(error_callback on_error = {}) : threadless(std::move(on_error)) {}
  ~inline_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  /// Ignores the priority, because no job waits for another one.
  [[nodiscard]] auto try_post(job& work, priority /*level*/) noexcept -> bool { return try_post(work); }

  /// Blocks until no thread runs a job here.
  /// Errors: would_deadlock in a job of this executor.
  [[nodiscard]] auto wait_idle() -> result<void>;

  /// Refuses new jobs, and blocks until those of other threads have ended. `mode` decides about jobs that wait for the
  /// end of the job that has posted them. Errors: would_deadlock in a job of this executor, which stays usable.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// Drains as `shutdown` does, but at most for `limit`. When the time is over, waiting jobs are dropped, a stop is
  /// requested, and the call returns while the last jobs still run.
  /// Errors: deadline_exceeded if the time was over first; would_deadlock as `shutdown`.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 private:
  atomic<bool> drops_{false};  // whether jobs that wait are dropped; written once
};

}  // namespace braid
