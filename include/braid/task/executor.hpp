// braid/task/executor.hpp: where jobs can be sent from any thread.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/job.hpp>

#include <cstdint>
#include <exception>
#include <stop_token>
#include <utility>

namespace braid {

/// A pool, an event loop, or anything else that runs jobs. The one indirect call of a post from outside; a worker's
/// own push and pop do not go through it.
/// Threads: any for the members, except where one says otherwise.
/// Lifetime: futures, scheduled work, strands and tasks may outlive it. They name it by its `id`, and what they still
/// send there is refused with errc::closed.
class BRAID_API executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  auto operator=(const executor&) -> executor& = delete;
  virtual ~executor();

  /// Queues the job. False when the executor is closed: then the job still belongs to the caller.
  /// Threads: any. Blocks: never, beyond a short lock of some executors.
  [[nodiscard]] virtual auto try_post(job& work) noexcept -> bool = 0;

  /// Why a `try_post` of the caller was refused a moment ago. Threads: any.
  [[nodiscard]] virtual auto why_refused() const noexcept -> errc { return errc::closed; }

  /// Whether the calling thread runs this executor's jobs. Threads: any.
  [[nodiscard]] virtual auto is_current() const noexcept -> bool = 0;

  /// Whether jobs run on threads that poll only: waits for futures, groups and tasks do so.
  [[nodiscard]] virtual auto needs_polls() const noexcept -> bool { return false; }

  /// Runs one job on the calling thread, where the executor needs that. False when there is none, and while another
  /// thread does the same. Threads: any. Blocks: as the job does; so also `run_one`.
  [[nodiscard]] virtual auto poll() noexcept -> bool { return false; }

  /// Runs one job that waits here, on the calling worker, whose own job waits for something meanwhile. False when there
  /// is none, or the caller is not a worker of this executor.
  [[nodiscard]] virtual auto run_one() noexcept -> bool { return false; }

  /// Requested when the executor's work is no longer wanted: what spawned work gets that asks for a token. Without one
  /// here, no stop ever comes.
  [[nodiscard]] virtual auto stop_token() const noexcept -> std::stop_token { return {}; }

  /// Counts a job of this executor that ended late: after its waiter had given up. Threads: the one that ran the job.
  virtual void ran_late() noexcept {}

  /// Takes what a job threw that has no waiter. Here it goes to stderr. Threads: the one that ran the job.
  virtual void report(std::exception_ptr error) noexcept;

  /// Names the executor for what may outlive it: see detail::executor_use. Threads: any.
  /// Errors: std::bad_alloc, at the first call.
  [[nodiscard]] auto id() const -> detail::executor_id {
    const std::uint64_t known = id_.load(acquire);  // edge executor.id: observe the slot that the number is of
    return known != 0 ? detail::executor_id::from_word(known) : make_id();
  }
  [[nodiscard]] auto has_id(detail::executor_id of) const noexcept -> bool {
    return of && id_.load(relaxed) == of.to_word();
  }

 protected:
  /// From now on the id names nothing. Blocks: while another thread uses the executor by its id. An executor whose
  /// users may be on other threads calls this first in its destructor, once its jobs have ended; the base does it last.
  void retire() noexcept;

  /// For an executor that is but a way into another one: it has the name of that one, until `give_up_id`, in its
  /// destructor. Errors: std::bad_alloc.
  void share_id(const executor& other) {
    // edge executor.id: publish the slot of the other, which this one has from now on
    id_.store(other.id().to_word(), release);
  }
  void give_up_id() noexcept { id_.store(0, relaxed); }

 private:
  [[nodiscard]] auto make_id() const -> detail::executor_id;

  mutable atomic<std::uint64_t> id_{0};  // written once, by the first thread that asks, and by `retire`
};

/// Runs `fn` on `where`, some time later, once. Without a handle: what it throws goes to the executor's error report.
/// Threads: any. Errors: errc::closed, errc::full where a bound says so, and then `fn` has been destroyed without being
/// called; std::bad_alloc, and then
/// nothing was posted.
template <job_function Fn>
[[nodiscard]] auto post(executor& where, Fn&& fn) -> result<void> {
  auto& work = make_job(std::forward<Fn>(fn));
  if (where.try_post(work)) return {};
  work.discard();
  return fail(where.why_refused());
}

}  // namespace braid
