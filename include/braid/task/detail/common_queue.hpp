// braid/task/detail/common_queue.hpp: a two-lock FIFO queue that all workers of a pool share.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid::detail {

/// A lock guard that spins before it sleeps. Use it for locks that are held only for a few steps, because spinning
/// until such a lock is free takes less time than a sleep and a wake.
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

/// A FIFO queue that consists of two queues (sides), each with its own lock. Threads that push and threads that pop
/// contend only when the pop side is empty and gets the jobs of the push side. Threads: any. Cost: a lock; a poll of an
/// empty queue costs three loads.
class common_queue {
 public:
  /// Adds a job. Returns false if the queue is closed; the job then still belongs to the caller.
  [[nodiscard]] auto try_push(job& work) noexcept -> bool {
    const brief_guard inside(added_.lock);
    if (closed_) return false;
    added_.jobs.push(work);
    added_.count.store(added_.count.load(relaxed) + 1, relaxed);
    return true;
  }

  /// Removes and returns the oldest job. Returns null if there is no job.
  [[nodiscard]] auto pop() noexcept -> job* {
    if (brought_over_.load(relaxed) == taken_.count.load(relaxed) && empty()) return nullptr;
    const brief_guard inside(taken_.lock);
    if (taken_.jobs.empty()) bring_over();
    job* const oldest = taken_.jobs.pop();
    if (oldest != nullptr) count_taken();
    return oldest;
  }

  /// Removes `wanted` if it is among the oldest 64 jobs. Returns whether the job was removed.
  [[nodiscard]] auto try_take(const job& wanted) noexcept -> bool {
    // docs/design/constants.md says what this value rests on.
    constexpr std::size_t max_looked_at = 64;
    if (empty()) return false;
    const brief_guard inside(taken_.lock);
    bring_over();
    if (!taken_.jobs.try_take(wanted, max_looked_at)) return false;
    count_taken();
    return true;
  }

  /// Returns false if the queue contains a job whose push happens before this call. If the queue is empty because
  /// threads have taken jobs, everything that these threads wrote before they took the jobs is visible to the caller.
  [[nodiscard]] auto empty() const noexcept -> bool { return size() == 0; }

  /// Returns the number of jobs. `taken` is read first: every job counted as taken is also counted as added, so the
  /// difference is not negative.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::uint64_t taken = taken_.count.load(acquire);  // edge common_queue.taken: observe the count of added jobs
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
    atomic<std::uint64_t> count{0};  // the number of all jobs ever added, or taken; written under the lock
  };

  /// Moves the pushed jobs to the pop side. Requires that the caller holds the lock of the pop side.
  void bring_over() noexcept {
    const brief_guard inside(added_.lock);
    taken_.jobs.append(added_.jobs);
    brought_over_.store(added_.count.load(relaxed), relaxed);
  }

  void count_taken() noexcept {
    // edge common_queue.taken: publish what the taking thread has written before
    taken_.count.store(taken_.count.load(relaxed) + 1, release);
  }

  half added_;
  alignas(cache_line) bool closed_ = false;  // guarded by the lock of the push side
  half taken_;
  atomic<std::uint64_t> brought_over_{0};  // the number of jobs ever moved; written under the lock of `taken_`
};

}  // namespace braid::detail
