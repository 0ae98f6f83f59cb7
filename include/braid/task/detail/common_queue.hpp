// braid/task/detail/common_queue.hpp: jobs under locks, from which every worker of a pool takes.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid::detail {

/// Holds a lock that others hold for some steps only: whoever would sleep for it takes longer than they do.
class brief_guard {
 public:
  explicit brief_guard(std::mutex& lock) noexcept : lock_(lock) {
    for (int tries = 100; tries > 0; --tries) {
      if (lock_.try_lock()) return;
      cpu_pause();
    }
    lock_.lock();
  }
  brief_guard(const brief_guard&) = delete;
  auto operator=(const brief_guard&) -> brief_guard& = delete;
  ~brief_guard() { lock_.unlock(); }

 private:
  std::mutex& lock_;
};

/// First in, first out. Two queues, so that who adds and who takes meet only when all that was brought over is taken.
/// Threads: any. Cost: a lock; a look at an empty queue is three loads.
class common_queue {
 public:
  /// False when closed: then the job still belongs to the caller.
  [[nodiscard]] auto try_push(job& work) noexcept -> bool {
    const brief_guard inside(added_.lock);
    if (closed_) return false;
    added_.jobs.push(work);
    added_.count.store(added_.count.load(relaxed) + 1, relaxed);
    return true;
  }

  /// The oldest job, or null.
  [[nodiscard]] auto pop() noexcept -> job* {
    if (brought_over_.load(relaxed) == taken_.count.load(relaxed) && empty()) return nullptr;
    const brief_guard inside(taken_.lock);
    if (taken_.jobs.empty()) bring_over();
    job* const oldest = taken_.jobs.pop();
    if (oldest != nullptr) count_taken();
    return oldest;
  }

  /// Takes this job out if it is among the oldest. True when it was.
  [[nodiscard]] auto try_take(const job& wanted) noexcept -> bool {
    constexpr std::size_t most_looked_at = 64;
    if (empty()) return false;
    const brief_guard inside(taken_.lock);
    bring_over();
    if (!taken_.jobs.try_take(wanted, most_looked_at)) return false;
    count_taken();
    return true;
  }

  /// False when a job is here whose push happens before this call. Who sees that jobs were taken sees what their takers
  /// had done before.
  [[nodiscard]] auto empty() const noexcept -> bool { return size() == 0; }

  /// Whoever has seen a job as taken sees that it was added.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::uint64_t taken = taken_.count.load(acquire);  // edge common_queue.taken: observe
    return added_.count.load(relaxed) - taken;
  }

  /// Refuses every later push.
  void close() noexcept {
    const brief_guard inside(added_.lock);
    closed_ = true;
  }

  void drop_all() noexcept {
    while (job* pending = pop()) pending->drop();
  }

 private:
  struct alignas(cache_line) half {
    std::mutex lock;
    intrusive_queue<job> jobs;
    atomic<std::uint64_t> count{0};  // how many were ever added, or taken; written under the lock
  };

  /// Under the lock of those who take.
  void bring_over() noexcept {
    const brief_guard inside(added_.lock);
    taken_.jobs.append(added_.jobs);
    brought_over_.store(added_.count.load(relaxed), relaxed);
  }

  void count_taken() noexcept {
    taken_.count.store(taken_.count.load(relaxed) + 1, release);  // edge common_queue.taken: publish
  }

  half added_;
  alignas(cache_line) bool closed_ = false;  // under the lock of those who add
  half taken_;
  atomic<std::uint64_t> brought_over_{0};  // how many were ever brought over; written under the lock of those who take
};

}  // namespace braid::detail
