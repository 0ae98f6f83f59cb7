// braid/coro/detail/sent_job.hpp: a job on another executor. The sender can withdraw the job until it begins.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/job_memory.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// A job that waits in the queue of another executor on behalf of a suspended coroutine, the sender. Because a job
/// cannot be removed from the middle of a queue, each sent job has its own block of memory. If the sender withdraws the
/// job, the executor frees the block when it dequeues the job. If the job has begun, the sender frees the block.
/// Protocol: docs/design/cancellation.md
class sent_job : public job {
 public:
  sent_job(const sent_job&) = delete;
  auto operator=(const sent_job&) -> sent_job& = delete;

  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_job(block, size); }

  /// Withdraws the job; the executor then frees it. Returns false if the job has already begun. Threads: the thread of
  /// the sender.
  [[nodiscard]] auto try_withdraw() noexcept -> bool {
    auto seen = state::queued;
    // edge sent_job.withdrawn: publish the sender's last use of the block, after which the executor frees it
    return state_.compare_exchange_strong(seen, state::withdrawn, release, relaxed);
  }

 protected:
  explicit sent_job(act_fn act) noexcept : job(act) {}
  ~sent_job() = default;

  /// Returns true if the job may begin. Returns false if it was withdrawn; the caller then frees it. Threads: a thread
  /// of the executor.
  [[nodiscard]] auto try_begin() noexcept -> bool {
    auto seen = state::queued;
    // edge sent_job.withdrawn: observe the sender's last use of the block, which the caller then frees
    return state_.compare_exchange_strong(seen, state::begun, relaxed, acquire);
  }

 private:
  enum class state : std::uint8_t { queued, begun, withdrawn };

  atomic<state> state_{state::queued};  // begun: written by the executor's thread; withdrawn: by the sender's
};

}  // namespace braid::detail
