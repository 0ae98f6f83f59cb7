// braid/task/basic_pool.hpp: `basic_pool`, a pool with a scheduling policy of your choice, and the policies of the
// library.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/detail/context_hooks.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/detail/worker_loop.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace braid {

/// The default scheduling policy. A job that a worker posts is queued in the worker's own context. Remote jobs are
/// queued at one worker, which is kept busy. If the backlog of this worker would take longer than about twice the time
/// that it takes to wake a thread, a second worker is woken and steals half of the backlog. So a stream of short jobs
/// stays on one core. The monitor, a sleeping worker that checks the other workers at intervals, steals jobs that wait
/// behind a long job, within about two of these intervals. Jobs of one worker context start in the order in which they
/// were queued; there is no order between contexts.
class BRAID_API work_stealing : public detail::context_hooks {
 public:
  explicit work_stealing(const worker_list& workers) : context_hooks(workers), kept_busy_(workers.front().get()) {}

  [[nodiscard]] auto worker_for(worker* poster) noexcept -> worker& final {
    return poster != nullptr ? *poster : *kept_busy_.load(relaxed);
  }
  [[nodiscard]] auto busy_worker() const noexcept -> const atomic<worker*>* override { return &kept_busy_; }
  [[nodiscard]] auto own_queues() noexcept -> detail::local_queues* override { return &contexts_; }

  [[nodiscard]] auto place(job& work, worker* poster) noexcept -> placement override {
    return contexts_.place_at(worker_for(poster), work, poster);
  }
  [[nodiscard]] auto refill(worker& self, search reason) noexcept -> found_job override {
    if (found_job own = take_own(self)) return own;
    return steal(self, reason);
  }

 private:
  [[nodiscard]] auto steal(worker& self, search reason) noexcept -> found_job;

  // The worker that receives remote jobs. A worker that steals jobs because they wait behind a long job stores itself
  // here.
  alignas(cache_line) atomic<worker*> kept_busy_;
};

/// A scheduling policy that joins the shortest queue. A job goes to the worker context with the fewest jobs, including
/// the running one. A worker whose job has run for more than a tenth of a millisecond counts as heavily loaded. With
/// more than eight workers, the policy uses the "power of two choices": it takes the better of two contexts that are
/// chosen at random. Among idle workers, the worker that was chosen last is chosen again. So a single worker runs all
/// jobs as long as it can keep up. A job that a worker posts is moved to another context only if that context has at
/// least two jobs fewer. Workers do not steal, except jobs that wait behind a long job. The monitor takes half of these
/// jobs within about two of its intervals. Each worker that it wakes takes half of the remaining jobs at once. Jobs of
/// one worker context start in the order in which they were queued; there is no order between contexts.
/// (`scheduling_policy.hpp` states the threads of each member.)
class BRAID_API least_loaded : public detail::context_hooks {
 public:
  explicit least_loaded(const worker_list& workers) : context_hooks(workers) {}

  [[nodiscard]] auto worker_for(worker* poster) noexcept -> worker& final;
  [[nodiscard]] auto place(job& work, worker* poster) noexcept -> placement override {
    return contexts_.place_at(worker_for(poster), work, poster);
  }
  [[nodiscard]] auto refill(worker& self, search reason) noexcept -> found_job override {
    if (found_job own = take_own(self)) return own;
    return reason != search::routine || contexts_.is_closed() ? rescue(self, reason) : found_job();
  }

 private:
  static auto count_load(const worker& worker) noexcept -> std::size_t;
  [[nodiscard]] auto min_of_all() noexcept -> worker&;
  [[nodiscard]] auto better_of_two() noexcept -> worker&;
  [[nodiscard]] auto waits_for_long(worker& self, const worker& victim, search reason) noexcept -> bool;
  [[nodiscard]] auto rescue(worker& self, search reason) noexcept -> found_job;

  atomic<std::size_t> last_{0};     // the worker that was chosen last; written by posting threads
  atomic<std::uint64_t> draws_{0};  // the seed of the next random choice
};

/// A scheduling policy with one queue for all workers: jobs start in the order in which they were posted.
/// Threads: any.
class BRAID_API shared_queue : public scheduling_hooks {
 public:
  explicit shared_queue(const worker_list& /*workers*/) noexcept {}

  [[nodiscard]] auto place(job& work, worker* /*poster*/) noexcept -> placement override {
    if (!queue_.try_push(work)) return {};
    return {.how = placement::verdict::urgent};
  }
  [[nodiscard]] auto refill(worker& /*self*/, search /*why*/) noexcept -> found_job override { return queue_.pop(); }
  [[nodiscard]] auto try_take(worker& /*self*/, const job& awaited) noexcept -> bool override {
    return queue_.try_take(awaited);
  }
  [[nodiscard]] auto may_park(worker& /*self*/) noexcept -> bool override { return queue_.empty(); }
  [[nodiscard]] auto empty() noexcept -> bool override { return queue_.empty(); }
  [[nodiscard]] auto is_quiescent() noexcept -> bool override { return queue_.empty(); }  // no thread moves jobs
  [[nodiscard]] auto queue_of_all() const noexcept -> const detail::common_queue* override { return &queue_; }
  void close() noexcept override { queue_.close(); }
  void drop_all() noexcept override { queue_.drop_all(); }

 private:
  detail::common_queue queue_;
};

/// A `pool` with the scheduling policy `Policy`; the option `pool::options::scheduler` is ignored.
template <scheduling_policy Policy>
class basic_pool final : public pool {
 public:
  /// Constructs the pool with the same options as `pool`.
  explicit basic_pool(pool::options options = {}) : pool(std::move(options), &detail::scheduler_for<Policy>::make) {}
};

}  // namespace braid
