// braid/task/scheduling_policy.hpp: the interface for user-defined scheduling policies.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/inbox.hpp>
#include <braid/task/job.hpp>
#include <braid/task/worker.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace braid {

namespace detail {
class common_queue;
}

/// The result of a search for work: nothing, a job, or a callable in an inbox. The worker that has searched calls
/// `run`. If `run` is not called, the destructor drops the job.
class found_job {
 public:
  found_job() = default;
  found_job(job* item) noexcept : item_(item) {}
  found_job(detail::inbox<>::work posted) noexcept : posted_(std::move(posted)) {}
  found_job(found_job&& other) noexcept
      : item_(std::exchange(other.item_, nullptr)), posted_(std::move(other.posted_)) {}
  auto operator=(found_job&&) -> found_job& = delete;
  ~found_job() {
    if (item_ != nullptr) item_->drop();
  }

  explicit operator bool() const noexcept { return item_ != nullptr || static_cast<bool>(posted_); }

  /// Runs the job or callable, once. Threads: the worker that has found the job or callable. Errors: exceptions of the
  /// user's code.
  void run() {
    if (item_ != nullptr) return detail::run_job(*std::exchange(item_, nullptr));
    posted_.run();
  }

 private:
  job* item_ = nullptr;
  detail::inbox<>::work posted_;
};

/// The result of queueing a job in a scheduler. It tells the pool whether to wake a worker.
struct placement {
  enum class verdict : std::uint8_t {
    refused,    ///< the scheduler is closed; the job still belongs to the caller
    can_wait,   ///< the job's worker will run it; if a long job delays it, the monitor helps
    urgent,     ///< the job justifies waking another worker
    no_memory,  ///< the scheduler has no place for the job at the moment; the pool queues it with priority `high`
  };
  static constexpr std::size_t no_worker = SIZE_MAX;

  verdict how = verdict::refused;
  std::size_t worker = no_worker;  ///< the worker that must not fall asleep while the job waits; no_worker means any
};

/// The reason for a worker's search for work.
enum class search : std::uint8_t {
  routine,  ///< it has run a job
  woken,    ///< another thread has woken it
  monitor,  ///< it is the monitor, and its interval has passed
};

/// The hooks of a scheduling policy. Everything in which the schedulers of pools differ is defined by these hooks. A
/// policy derives from this class and marks each hook `override`, so that the compiler refuses a hook that does not
/// exist. A hook for a worker is called by that worker. A thread calls `light` of the pool's barrier (an
/// asymmetric_barrier) after it has called `place`. A worker that goes to sleep calls `heavy` before it calls
/// `may_park`. Therefore, `place`, `may_park` and `empty` need no further memory ordering, with one exception. If
/// `empty` finds that another thread has taken a job, everything that this thread has written before must be visible to
/// the caller of `empty` (docs/design/pool.md). Cost: hooks cost as much as plain functions, because a pool knows the
/// type of its policy.
class BRAID_API scheduling_hooks {
 public:
  scheduling_hooks() = default;
  scheduling_hooks(const scheduling_hooks&) = delete;
  auto operator=(const scheduling_hooks&) -> scheduling_hooks& = delete;
  virtual ~scheduling_hooks();

  // --- Hooks that every policy defines. ---

  /// Queues a job that the worker `poster` posts. `poster` is null if the posting thread is not a worker. Threads: any.
  [[nodiscard]] virtual auto place(job& work, worker* poster) noexcept -> placement = 0;

  /// Returns the next job for a worker.
  [[nodiscard]] virtual auto refill(worker& self, search reason) noexcept -> found_job = 0;

  /// The last poll of a worker that has announced that it will sleep. Returns true if the worker finds no work and may
  /// sleep.
  [[nodiscard]] virtual auto may_park(worker& self) noexcept -> bool = 0;

  /// Returns whether no job is queued. Threads: any.
  [[nodiscard]] virtual auto empty() noexcept -> bool = 0;

  /// Refuses every later `place`. Threads: any.
  virtual void close() noexcept = 0;

  /// Drops all jobs that have not started. Threads: any.
  virtual void drop_all() noexcept = 0;

  // --- Hooks with a default. ---

  /// Returns a job that must run before the jobs that `refill` returns. A busy worker calls this from time to time, for
  /// fairness.
  [[nodiscard]] virtual auto tick(worker& /*self*/) noexcept -> found_job { return {}; }

  /// Removes `awaited` if it is among the next jobs of the worker. Returns whether the job was removed.
  [[nodiscard]] virtual auto try_take(worker& /*self*/, const job& /*awaited*/) noexcept -> bool { return false; }

  /// Returns whether a job may be in a queue that only one worker polls. If this returns true, one of the sleeping
  /// workers watches the other workers.
  [[nodiscard]] virtual auto has_monitor() const noexcept -> bool { return false; }

  /// Returns true if all queues were found empty while no thread moved jobs. May return false at any time. Requires
  /// that the policy is closed. Threads: any.
  [[nodiscard]] virtual auto is_quiescent() noexcept -> bool { return false; }

  /// Returns the queue that all workers share, or null if there is no such queue. It is used for metrics.
  [[nodiscard]] virtual auto queue_of_all() const noexcept -> const detail::common_queue* { return nullptr; }
};

/// A type that provides the hooks of a scheduling policy.
template <typename P>
concept scheduling_policy = std::derived_from<P, scheduling_hooks> && std::constructible_from<P, const worker_list&>;

}  // namespace braid
