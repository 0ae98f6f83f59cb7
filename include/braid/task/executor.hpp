// braid/task/executor.hpp: where jobs can be sent from any thread.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/job.hpp>

#include <exception>
#include <stop_token>
#include <utility>

namespace braid {

/// A pool, an event loop, or anything else that runs jobs. The one indirect call of a post from outside; a worker's
/// own push and pop do not go through it.
class BRAID_API executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  auto operator=(const executor&) -> executor& = delete;
  virtual ~executor();

  /// Queues the job. False when the executor is closed: then the job still belongs to the caller.
  /// Threads: any. Blocks: never for long.
  [[nodiscard]] virtual auto try_post(job& work) noexcept -> bool = 0;

  /// Whether the calling thread runs this executor's jobs.
  [[nodiscard]] virtual auto is_current() const noexcept -> bool = 0;

  /// Runs one job that waits here, on the calling worker, whose own job waits for something meanwhile. False when there
  /// is none, or the caller is not a worker of this executor.
  [[nodiscard]] virtual auto run_one() noexcept -> bool { return false; }

  /// Requested when the executor's work is no longer wanted: what spawned work gets that asks for a token. Without one
  /// here, no stop ever comes.
  [[nodiscard]] virtual auto stop_token() const noexcept -> std::stop_token { return {}; }

  /// A job of this executor has ended whose result nobody waits for any more: for those who count. Threads: the one
  /// that ran the job.
  virtual void ran_late() noexcept {}

  /// Takes what a job threw that nobody waits for. Here it goes to stderr. Threads: the one that ran the job.
  virtual void report(std::exception_ptr error) noexcept;
};

/// Runs `fn` on `where`, some time later, once. Without a handle: what it throws goes to the executor's error report.
/// Threads: any. Errors: errc::closed, and then `fn` has been destroyed without being called; std::bad_alloc, and then
/// nothing was posted.
template <job_function Fn>
auto post(executor& where, Fn&& fn) -> result<void> {
  auto& work = make_job(std::forward<Fn>(fn));
  if (where.try_post(work)) return {};
  work.discard();
  return fail(errc::closed);
}

}  // namespace braid
