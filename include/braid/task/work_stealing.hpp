// braid/task/work_stealing.hpp: the scheduler with a worker context for each worker, from which idle workers take.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

namespace braid {

/// A job that a worker posts lies in its own context; one that comes from elsewhere at that of the worker that is being
/// kept busy. A second worker is woken when the backlog there, in time, exceeds about twice what a wake takes, so that
/// a stream of short jobs stays on one core. A worker that has nothing takes half of such a backlog. Whatever lies
/// behind a long job is taken by a worker that sleeps and watches, within about two of its intervals.
/// Jobs of one worker context start in their order, those of several worker contexts in none. A scheduling policy.
class BRAID_API work_stealing {
 public:
  static constexpr bool has_monitor = true;

  explicit work_stealing(const worker_list& workers) : local_queues_(workers), kept_busy_(workers.front().get()) {}

  [[nodiscard]] auto worker_for(worker* poster) noexcept -> worker& {
    return poster != nullptr ? *poster : *kept_busy_.load(relaxed);
  }

  /// The worker context of jobs from elsewhere.
  [[nodiscard]] auto busy_worker() const noexcept -> const atomic<worker*>& { return kept_busy_; }

  /// Where what a worker posts lies in its own context, whatever the others do.
  [[nodiscard]] auto own_queues() noexcept -> detail::local_queues& { return local_queues_; }

  [[nodiscard]] auto place(job& work, worker* poster) noexcept -> placement {
    return local_queues_.place_at(worker_for(poster), work, poster);
  }

  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool {
    return local_queues_.try_take(self, awaited);
  }
  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job { return local_queues_.take_own(self); }
  [[nodiscard]] auto refill(worker& self, search why) noexcept -> found_job {
    if (found_job own = take_own(self)) return own;
    return steal(self, why);
  }
  [[nodiscard]] auto tick(worker& self) noexcept -> found_job { return local_queues_.take_posted(self); }

  [[nodiscard]] auto may_park(worker& self) noexcept -> bool { return local_queues_.may_park(self); }
  [[nodiscard]] auto empty() noexcept -> bool { return local_queues_.empty(); }
  [[nodiscard]] auto is_quiescent() noexcept -> bool { return local_queues_.is_quiescent(); }
  void close() noexcept { local_queues_.close(); }
  void drop_all() noexcept { local_queues_.drop_all(); }

 private:
  [[nodiscard]] auto steal(worker& self, search why) noexcept -> found_job;

  detail::local_queues local_queues_;
  alignas(cache_line) atomic<worker*> kept_busy_;  // target of remote jobs; written by a worker that takes work over
};

}  // namespace braid
