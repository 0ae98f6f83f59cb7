// braid/task/detail/seat.hpp: the jobs that lie at one worker's place, where others may put more and take some away.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_queue.hpp>
#include <braid/task/detail/job_pace.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace braid::detail {

/// A queue under a lock, first in first out.
/// Threads: any; `pace` as job_pace says, `seen` its worker only.
class alignas(cache_line) seat {
 public:
  seat(std::size_t seats, const clock_source& clock) : pace(clock), seen(seats) {}

  /// How many jobs lie here now; 0 when closed: then the job still belongs to the caller.
  [[nodiscard]] auto try_push(job& work) noexcept -> std::size_t {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    queue_.push(work);
    return ++size_;
  }

  /// The oldest job, for the worker to run.
  [[nodiscard]] auto pop() noexcept -> job* {
    const std::lock_guard lock(mutex_);
    job* found = queue_.pop();
    if (found == nullptr) return nullptr;
    --size_;
    ++taken_;
    return found;
  }

  /// Jobs that somebody took from another seat; also when this one is closed.
  void add(intrusive_queue<job> jobs, std::size_t count) noexcept {
    const std::lock_guard lock(mutex_);
    while (job* each = jobs.pop()) queue_.push(*each);
    size_ += count;
  }

  struct haul {
    intrusive_queue<job> jobs;
    std::size_t count = 0;
  };

  /// The older half, at least one, where there are jobs that `wanted(size, taken)` wants. `taken` counts what the
  /// worker has popped so far.
  template <typename Wanted>
  [[nodiscard]] auto take_half(Wanted wanted) noexcept -> haul {
    haul found;
    const std::lock_guard lock(mutex_);
    if (size_ == 0 || !wanted(size_, taken_)) return found;
    found.count = (size_ + 1) / 2;
    size_ -= found.count;
    for (std::size_t left = found.count; left != 0; --left) found.jobs.push(*queue_.pop());
    return found;
  }

  [[nodiscard]] auto empty() noexcept -> bool {
    const std::lock_guard lock(mutex_);
    return size_ == 0;
  }

  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  void take_all_into(intrusive_queue<job>& out) noexcept {
    const std::lock_guard lock(mutex_);
    while (job* each = queue_.pop()) out.push(*each);
    size_ = 0;
  }

  job_pace pace;
  std::vector<std::uint64_t> seen;  ///< what the other workers had popped when this one watched them last

 private:
  std::mutex mutex_;
  intrusive_queue<job> queue_;
  std::size_t size_ = 0;
  std::uint64_t taken_ = 0;
  bool closed_ = false;
};

}  // namespace braid::detail
