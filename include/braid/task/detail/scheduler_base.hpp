// braid/task/detail/scheduler_base.hpp: the interface through which a pool uses any scheduler.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <memory>

namespace braid {

class pool;

namespace detail {

class local_queues;

/// A scheduling policy together with the queues of the priorities `high` and `low`, behind one virtual interface.
/// `work` is the loop of a worker, which makes no virtual calls. The other functions are for remote posts, and for
/// workers that have no job. docs/design/pool.md describes the policy.
class BRAID_API scheduler_base {
 public:
  scheduler_base() = default;
  scheduler_base(const scheduler_base&) = delete;
  auto operator=(const scheduler_base&) -> scheduler_base& = delete;
  virtual ~scheduler_base();

  virtual auto place(job& work, worker* poster, priority level) noexcept -> placement = 0;

  /// Returns the worker whose context receives a callable from `poster`, or null if the scheduler has no worker
  /// contexts.
  virtual auto worker_for(worker* poster) noexcept -> worker* = 0;

  /// If the scheduler keeps one worker busy with remote jobs, returns the variable that holds the result of
  /// `worker_for(nullptr)`. Otherwise returns null.
  [[nodiscard]] virtual auto busy_worker() const noexcept -> const atomic<worker*>* { return nullptr; }

  /// If jobs that a worker posts always go to its own context, returns the worker contexts. Otherwise returns null.
  [[nodiscard]] virtual auto own_queues() noexcept -> local_queues* { return nullptr; }

  /// Runs the loop of a worker until the pool stops.
  virtual void work(worker& self) noexcept = 0;

  /// Runs one job on the calling worker. Returns false if no job is found. `reason` decides from which other workers
  /// the calling worker may take jobs.
  virtual auto run_one(worker& self, search reason) noexcept -> bool = 0;

  /// Runs the job `awaited` on the calling worker if the job is in the worker's context or in a shared queue, and can
  /// be found there quickly.
  virtual auto run_awaited(worker& /*self*/, job& /*awaited*/) noexcept -> bool { return false; }

  /// Called when a worker has announced that it will sleep, before it polls for work once more.
  virtual void falls_asleep() noexcept {}

  [[nodiscard]] virtual auto has_monitor() const noexcept -> bool = 0;
  [[nodiscard]] virtual auto may_park(worker& self) noexcept -> bool = 0;
  [[nodiscard]] virtual auto empty() noexcept -> bool = 0;

  /// Returns true if every queue was found empty, no fork was shared, and no thread moved jobs during the check. In
  /// that case, the only jobs left are those that workers have already taken. This function may return false at any
  /// time. Requires that the scheduler is closed.
  [[nodiscard]] virtual auto is_quiescent() noexcept -> bool { return false; }

  virtual void close() noexcept = 0;
  virtual void drop_all() noexcept = 0;

  /// Returns the approximate number of jobs in the queues that all workers share. Threads: any.
  [[nodiscard]] auto queued(priority level) const noexcept -> std::size_t {
    if (level == priority::normal) return shared_ != nullptr ? shared_->size() : 0;
    return (level == priority::low ? low_ : high_).size();
  }

 protected:
  common_queue high_;
  common_queue low_;
  const common_queue* shared_ = nullptr;  // the jobs of priority `normal`, in a policy that has one queue for all
};

/// Creates the scheduler of a pool. When it is called, the workers of the pool exist, but have not started.
using scheduler_factory = auto (*)(pool& owner, const worker_list& workers) -> std::unique_ptr<scheduler_base>;

}  // namespace detail
}  // namespace braid
