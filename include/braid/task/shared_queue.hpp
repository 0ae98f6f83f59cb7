// braid/task/shared_queue.hpp: the simplest scheduler: one queue under a lock, from which every worker takes.
#pragma once

#include <braid/task/detail/common_queue.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

namespace braid {

/// Jobs start in the order in which they were posted. A scheduling policy.
/// Threads: any.
class shared_queue {
 public:
  static constexpr bool has_monitor = false;  // there is nothing that only one worker looks at

  explicit shared_queue(const worker_list& /*workers*/) noexcept {}

  /// Queues a job.
  [[nodiscard]] auto place(job& work, const worker* /*poster*/) noexcept -> placement {
    if (!queue_.try_push(work)) return {};
    return {.how = placement::verdict::urgent};
  }

  /// The next job for a worker.
  [[nodiscard]] auto refill(worker& /*self*/, search /*why*/) noexcept -> found_job { return queue_.pop(); }

  /// Takes this job out if it is among the next.
  [[nodiscard]] auto try_take(const worker& /*self*/, const job& awaited) noexcept -> bool {
    return queue_.try_take(awaited);
  }

  /// What a busy worker looks at now and then for fairness: nothing, because there is one queue only.
  [[nodiscard]] auto tick(worker& /*self*/) noexcept -> found_job { return {}; }

  /// The second look of a worker that has announced its sleep.
  [[nodiscard]] auto may_park(const worker& /*self*/) noexcept -> bool { return empty(); }

  [[nodiscard]] auto empty() noexcept -> bool { return queue_.empty(); }

  /// For metrics.
  [[nodiscard]] auto queue_of_all() const noexcept -> const detail::common_queue& { return queue_; }

  /// Jobs lie in one place: no thread moves them.
  [[nodiscard]] auto is_quiescent() noexcept -> bool { return empty(); }

  /// Refuses every later `place`.
  void close() noexcept { queue_.close(); }

  /// Drops everything that has not started.
  void drop_all() noexcept { queue_.drop_all(); }

 private:
  detail::common_queue queue_;
};

}  // namespace braid
