// braid/task/detail/common_queue.hpp: jobs under a lock, from which every worker of a pool takes.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <mutex>

namespace braid::detail {

/// First in, first out.
/// Threads: any. Cost: a lock; a look at an empty queue is one load.
class alignas(cache_line) common_queue {
 public:
  /// False when closed: then the job still belongs to the caller.
  [[nodiscard]] auto try_push(job& work) noexcept -> bool {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    queue_.push(work);
    count_.store(count_.load(relaxed) + 1, relaxed);
    return true;
  }

  /// The oldest job, or null.
  [[nodiscard]] auto pop() noexcept -> job* {
    if (count_.load(relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    job* const oldest = queue_.pop();
    if (oldest != nullptr) count_.store(count_.load(relaxed) - 1, release);  // edge common_queue.taken: publish
    return oldest;
  }

  /// Takes this job out if it is among the oldest. True when it was.
  [[nodiscard]] auto try_take(const job& wanted) noexcept -> bool {
    constexpr std::size_t most_looked_at = 64;
    if (count_.load(relaxed) == 0) return false;
    const std::lock_guard lock(mutex_);
    if (!queue_.try_take(wanted, most_looked_at)) return false;
    count_.store(count_.load(relaxed) - 1, release);  // edge common_queue.taken: publish
    return true;
  }

  /// False when a job is here whose push happens before this call. Who sees that jobs were taken sees what their takers
  /// had done before.
  [[nodiscard]] auto empty() const noexcept -> bool { return size() == 0; }

  [[nodiscard]] auto size() const noexcept -> std::size_t {
    return count_.load(acquire);  // edge common_queue.taken: observe
  }

  /// Refuses every later push.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  void drop_all() noexcept {
    while (job* pending = pop()) pending->drop();
  }

 private:
  std::mutex mutex_;
  intrusive_queue<job> queue_;
  bool closed_ = false;
  alignas(cache_line) atomic<std::size_t> count_{0};  // how many are queued; written under the lock
};

}  // namespace braid::detail
