// braid/coro/detail/sent_job.hpp: a job on another executor that its sender takes back if it has not begun.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/job_memory.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// A job that waits in the queue of another executor on behalf of a suspended coroutine. A job cannot be removed from
/// the middle of a queue, so it is a block of its own: a sender that withdraws it leaves the block to the executor,
/// which frees it when its turn comes. The sender frees a job that has begun.
/// Protocol: docs/design/cancellation.md
class sent_job : public job {
 public:
  sent_job(const sent_job&) = delete;
  auto operator=(const sent_job&) -> sent_job& = delete;

  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_job(block, size); }

  /// Takes the job back. Returns false if it has begun; otherwise the executor frees it. Threads: the sender's.
  [[nodiscard]] auto try_withdraw() noexcept -> bool {
    auto seen = state::queued;
    // edge sent_job.withdrawn: publish, the executor frees the block after its last use by the sender
    return state_.compare_exchange_strong(seen, state::withdrawn, release, relaxed);
  }

 protected:
  explicit sent_job(act_fn act) noexcept : job(act) {}
  ~sent_job() = default;

  /// Returns whether the job may begin; if not, the caller frees it. Threads: the executor's.
  [[nodiscard]] auto try_begin() noexcept -> bool {
    auto seen = state::queued;
    // edge sent_job.withdrawn: observe, the sender does not use the block any more
    return state_.compare_exchange_strong(seen, state::begun, relaxed, acquire);
  }

 private:
  enum class state : std::uint8_t { queued, begun, withdrawn };

  atomic<state> state_{state::queued};  // begun: written by the executor's thread; withdrawn: by the sender's
};

}  // namespace braid::detail
