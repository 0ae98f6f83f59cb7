// braid/task/shared_queue.hpp: the simplest scheduler: one queue under a lock, from which every worker takes.
#pragma once

#include <braid/base/intrusive_queue.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <mutex>

namespace braid {

/// Jobs start in the order in which they were posted. A policy for `basic_pool`.
/// Threads: any.
class shared_queue {
 public:
  static constexpr bool watches = false;  // there is nothing that only one worker looks at

  explicit shared_queue(std::size_t /*workers*/ = 0) noexcept {}

  /// Queues a job.
  [[nodiscard]] auto place(job& work, const worker* /*poster*/) noexcept -> placement {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    queue_.push(work);
    return {.how = placement::verdict::urgent};
  }

  /// The next job for a worker, or null.
  [[nodiscard]] auto refill(worker& /*self*/, search /*why*/) noexcept -> job* {
    const std::lock_guard lock(mutex_);
    return queue_.pop();
  }

  /// What a busy worker looks at now and then for fairness: nothing, because there is one queue only.
  [[nodiscard]] auto tick(worker& /*self*/) noexcept -> job* { return nullptr; }

  /// The second look of a worker that has announced its sleep.
  [[nodiscard]] auto may_park(const worker& /*self*/) noexcept -> bool { return empty(); }

  [[nodiscard]] auto empty() noexcept -> bool {
    const std::lock_guard lock(mutex_);
    return queue_.empty();
  }

  /// Refuses every later `place`.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  /// Everything that has not started.
  [[nodiscard]] auto take_all() noexcept -> intrusive_queue<job> {
    const std::lock_guard lock(mutex_);
    return intrusive_queue<job>(std::move(queue_));
  }

 private:
  std::mutex mutex_;
  intrusive_queue<job> queue_;
  bool closed_ = false;
};

}  // namespace braid
