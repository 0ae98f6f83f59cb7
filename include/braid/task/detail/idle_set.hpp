// braid/task/detail/idle_set.hpp: the set of a pool's idle workers: an event count with a flag for each worker.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace braid::detail {

/// An event count (prepare wait, cancel wait, notify) with a flag per worker. A worker announces that it is about to
/// sleep, polls for work once more, and sleeps. A thread that posts work claims a worker that has announced this. The
/// pool's barrier orders both sides as in the Dekker pattern. The worker calls the barrier's `heavy` between announcing
/// its sleep and polling. The posting thread calls `light` between queueing its job and claiming a worker.
/// Protocol: docs/design/pool.md
class idle_set {
 public:
  explicit idle_set(std::size_t workers) : advertised_(workers) {}

  void advertise(std::size_t index) noexcept {
    count_.fetch_add(1, release);          // edge idle_set.done: publish what the worker did before it went idle
    advertised_[index].store(1, release);  // edge idle_set.advertised: publish the count before the flag
  }

  /// Withdraws the worker's announcement. Returns false if the worker was already claimed, so that a wake will follow.
  [[nodiscard]] auto try_cancel(std::size_t index) noexcept -> bool {
    // edge idle_set.advertised: observe the count, which is decremented in the next line
    if (advertised_[index].exchange(0, acquire) == 0) return false;
    count_.fetch_add(one_end - 1, relaxed);
    return true;
  }

  /// Retires an announced worker for good: the worker can no longer be claimed, but still counts as idle. Returns false
  /// if the worker was already claimed, so that a wake will follow.
  [[nodiscard]] auto try_retire(std::size_t index) noexcept -> bool {
    return advertised_[index].exchange(0, relaxed) != 0;
  }

  /// Returns true if no worker can be claimed, because no worker sleeps or is about to sleep.
  [[nodiscard]] auto none() const noexcept -> bool { return idle_in(count_.load(relaxed)) == 0; }

  /// Returns whether the worker with this index may be claimed.
  [[nodiscard]] auto is_advertised(std::size_t index) const noexcept -> bool {
    return advertised_[index].load(relaxed) != 0;
  }

  /// Claims the worker with this index if it has announced itself. If this returns true, the caller must wake the
  /// worker.
  [[nodiscard]] auto try_claim(std::size_t index) noexcept -> bool { return is_advertised(index) && try_cancel(index); }

  /// Claims any worker that has announced itself. The caller must wake this worker. Returns nothing if no worker
  /// sleeps.
  [[nodiscard]] auto claim_any() noexcept -> std::optional<std::size_t> {
    if (none()) return std::nullopt;
    for (std::size_t index = 0; index < advertised_.size(); ++index)
      if (try_claim(index)) return index;
    return std::nullopt;
  }

  /// Returns whether every worker has announced itself or has retired. If so, everything that the workers have written
  /// before is visible to the caller.
  [[nodiscard]] auto all() const noexcept -> bool { return all_since().has_value(); }

  /// Returns a number if all workers are idle, and nothing otherwise. If two calls return the same number, all workers
  /// were idle from the first call to the second.
  [[nodiscard]] auto all_since() const noexcept -> std::optional<std::uint64_t> {
    const std::uint64_t count = count_.load(acquire);  // edge idle_set.done: observe what idle workers did before
    if (idle_in(count) != advertised_.size()) return std::nullopt;
    return count / one_end;
  }

 private:
  static constexpr std::uint64_t one_end = std::uint64_t{1} << 32;

  static constexpr auto idle_in(std::uint64_t count) noexcept -> std::uint64_t { return count % one_end; }

  std::vector<atomic<std::uint32_t>> advertised_;  // 1 while the worker may be claimed
  // The lower bits count the workers that may be claimed, are just being claimed, or have retired. The upper bits count
  // how often a worker was claimed or withdrew its announcement.
  atomic<std::uint64_t> count_{0};
};

}  // namespace braid::detail
