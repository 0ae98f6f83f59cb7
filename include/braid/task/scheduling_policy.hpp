// braid/task/scheduling_policy.hpp: how a scheduler of one's own is written.
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

/// What a scheduler found for a worker: nothing, a job, or a callable in an inbox. The owner of this object runs it, on
/// the worker that it was found for; otherwise the destructor drops it.
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

  /// Runs it, once. Threads: the worker that it was found for. Errors: what the user's code throws.
  void run() {
    if (item_ != nullptr) return detail::run_job(*std::exchange(item_, nullptr));
    posted_.run();
  }

 private:
  job* item_ = nullptr;
  detail::inbox<>::work posted_;
};

/// The result of queueing a job in a scheduler, and what the pool has to do as a consequence.
struct placement {
  enum class verdict : std::uint8_t {
    refused,    ///< the scheduler is closed; the job still belongs to the caller
    can_wait,   ///< the worker that has it queued will run it, unless a long job holds it up: then the monitor helps
    urgent,     ///< another worker is worth its wake
    no_memory,  ///< the scheduler has no place for the job at the moment; the pool queues it with priority `high`
  };
  static constexpr std::size_t no_worker = SIZE_MAX;

  verdict how = verdict::refused;
  std::size_t worker = no_worker;  ///< the worker that must not fall asleep while the job waits; no_worker means any
};

/// Why a worker looks for work.
enum class search : std::uint8_t {
  routine,  ///< it has run a job
  woken,    ///< another thread found that it is needed
  monitor,  ///< it has watched the others for a while
};

/// The hooks of a scheduling policy, which are everything that differs between the schedulers of a pool. A policy
/// derives from this class and marks each hook `override`, so that the compiler refuses a hook that does not exist.
/// Calls for one worker come from that worker. A thread that places a job crosses the light side of the pool's barrier
/// afterwards, and a worker that goes to sleep its heavy side before `may_park`; `place`, `may_park` and `empty` need
/// no order of their own beyond that, with one exception: a caller of `empty` that finds a job gone sees what its taker
/// did before (docs/design/pool.md).
/// Cost: that of plain functions, because a pool knows the type of its policy.
class BRAID_API scheduling_hooks {
 public:
  scheduling_hooks() = default;
  scheduling_hooks(const scheduling_hooks&) = delete;
  auto operator=(const scheduling_hooks&) -> scheduling_hooks& = delete;
  virtual ~scheduling_hooks();

  // --- hooks of every policy ---

  /// Queues a job that `poster` posts, or another thread if that is null. Threads: any.
  [[nodiscard]] virtual auto place(job& work, worker* poster) noexcept -> placement = 0;

  /// Returns the next job for a worker.
  [[nodiscard]] virtual auto refill(worker& self, search reason) noexcept -> found_job = 0;

  /// Returns whether a worker that has announced its sleep finds nothing at a last look.
  [[nodiscard]] virtual auto may_park(worker& self) noexcept -> bool = 0;

  /// Returns whether no job is queued. Threads: any.
  [[nodiscard]] virtual auto empty() noexcept -> bool = 0;

  /// Refuses every later `place`. Threads: any.
  virtual void close() noexcept = 0;

  /// Drops everything that has not started. Threads: any.
  virtual void drop_all() noexcept = 0;

  // --- hooks with a default ---

  /// Returns a job that overtakes those of `refill`: a busy worker asks for one now and then, for fairness.
  [[nodiscard]] virtual auto tick(worker& /*self*/) noexcept -> found_job { return {}; }

  /// Takes this job out if it is among the next ones of the worker. Returns true if it was.
  [[nodiscard]] virtual auto try_take(worker& /*self*/, const job& /*awaited*/) noexcept -> bool { return false; }

  /// Returns whether a job may be where only one worker looks, so that a sleeping worker should watch the others.
  [[nodiscard]] virtual auto has_monitor() const noexcept -> bool { return false; }

  /// Returns true if everything was found empty while no thread moved jobs. May return false at any time. Requires
  /// that it is closed. Threads: any.
  [[nodiscard]] virtual auto is_quiescent() noexcept -> bool { return false; }

  /// Returns the queue of all workers, for metrics, or null.
  [[nodiscard]] virtual auto queue_of_all() const noexcept -> const detail::common_queue* { return nullptr; }
};

/// A class that supplies the hooks of a scheduler.
template <typename P>
concept scheduling_policy = std::derived_from<P, scheduling_hooks> && std::constructible_from<P, const worker_list&>;

}  // namespace braid
