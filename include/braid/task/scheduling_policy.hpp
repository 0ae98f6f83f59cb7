// braid/task/scheduling_policy.hpp: how a scheduler of one's own is written.
#pragma once

#include <braid/sync/detail/inbox.hpp>
#include <braid/task/job.hpp>
#include <braid/task/worker.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace braid {

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

/// A scheduling policy: everything that differs between the schedulers of a pool. Calls for one worker come from that
/// worker. A thread that places a job crosses the light side of the pool's barrier afterwards, and a worker that goes
/// to sleep its heavy side before `may_park`; `place`, `may_park` and `empty` need no order of their own beyond that,
/// with one exception: a caller of `empty` that finds a job gone sees what its taker did before (docs/design/pool.md).
template <typename P>
concept scheduling_policy =
    std::constructible_from<P, const worker_list&> && requires(P& policy, worker& self, worker* poster, job& work) {
      { P::has_monitor } -> std::convertible_to<bool>;
      { policy.place(work, poster) } noexcept -> std::same_as<placement>;
      { policy.refill(self, search::routine) } noexcept -> std::same_as<found_job>;
      { policy.tick(self) } noexcept -> std::same_as<found_job>;
      { policy.may_park(self) } noexcept -> std::same_as<bool>;
      { policy.empty() } noexcept -> std::same_as<bool>;
      { policy.close() } noexcept;
      { policy.drop_all() } noexcept;
    };

namespace detail {

/// A scheduler whose jobs lie in the contexts of workers, so that callables can be posted there as they are. A worker
/// context is the queue and the inbox of a worker.
template <typename P>
concept local_queue_policy = scheduling_policy<P> && requires(P& policy, worker* poster, worker& self) {
  { policy.worker_for(poster) } noexcept -> std::same_as<worker&>;
  { policy.take_own(self) } noexcept -> std::same_as<found_job>;
};

}  // namespace detail

}  // namespace braid
