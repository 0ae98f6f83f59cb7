// braid/task/detail/slab_deque.hpp: a work-stealing deque of slot numbers. Its owner needs no locked operations.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace braid::detail {

/// A work-stealing deque of numbers, all of which thieves can steal at any time. Each steal of half of the entries
/// calls the barrier's `heavy` once, so only the thief pays for synchronization. Thieves can steal even while the owner
/// runs a long job. Threads: only the owner may call `try_push` and `pop`; any thread may call the other functions.
/// Source: Frigo, Leiserson, Randall, "The implementation of the Cilk-5 multithreaded language", 1998 (the THE
/// protocol). Protocol: docs/design/job_slab.md
template <typename Lock = std::mutex>
class slab_deque {
 public:
  slab_deque(std::size_t capacity, asymmetric_barrier& barrier)
      : barrier_(barrier),
        mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
        ring_(std::make_unique<atomic<std::uint32_t>[]>(mask_ + 1)) {}

  /// Adds an entry at the new end. Returns false if the deque is full.
  [[nodiscard]] auto try_push(std::uint32_t entry) noexcept -> bool {
    const std::uint64_t bottom = bottom_.load(relaxed);
    if (bottom - taken_seen_ > mask_ && !find_room(bottom)) [[unlikely]]
      return false;
    ring_[bottom & mask_].store(entry, relaxed);
    bottom_.store(bottom + 1, release);  // edge slab_deque.entry: publish the entry before its index
    return true;
  }

  /// Removes the newest entry and stores it in `entry`. Returns false if the deque is empty.
  [[nodiscard]] auto pop(std::uint32_t& entry) noexcept -> bool {
    const std::uint64_t bottom = bottom_.load(relaxed);
    if (bottom == taken_seen_) return false;  // all entries are known to be taken
    bottom_.store(bottom - 1, release);       // edge slab_deque.entry: publish the entries that stay
    barrier_.light();
    if (top_.load(relaxed) >= bottom) [[unlikely]]
      return pop_slow(bottom, entry);
    entry = ring_[(bottom - 1) & mask_].load(relaxed);
    return true;
  }

  /// Removes the older half of the entries, rounded up, but not more than `out` can hold. Writes them to `out`, oldest
  /// first, and returns the number of removed entries.
  [[nodiscard]] auto steal_half(std::span<std::uint32_t> out) noexcept -> std::size_t {
    if (size() == 0) return 0;
    const std::lock_guard lock(lock_);
    const std::uint64_t top = top_.load(relaxed);
    std::uint64_t bottom = bottom_.load(relaxed);
    if (bottom <= top) return 0;
    const std::uint64_t wanted = std::min<std::uint64_t>((bottom - top + 1) / 2, out.size());
    top_.store(top + wanted, relaxed);
    barrier_.heavy();
    bottom = bottom_.load(acquire);  // edge slab_deque.entry: observe the entries below it
    const std::uint64_t count = bottom <= top ? 0 : std::min(wanted, bottom - top);
    if (count != wanted) top_.store(top + count, relaxed);
    for (std::uint64_t i = 0; i < count; ++i) out[i] = ring_[(top + i) & mask_].load(relaxed);
    taken_.store(top + count, release);  // edge slab_deque.taken: publish after the entries were read
    return count;
  }

  /// Returns the number of entries. On threads other than the owner's, the number may be slightly out of date.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::uint64_t top = top_.load(relaxed);
    const std::uint64_t bottom = bottom_.load(relaxed);
    return bottom > top ? bottom - top : 0;
  }

  /// Returns false if the deque contains an entry, or if a thief is stealing one. A thread calls this as its last poll
  /// before it sleeps.
  [[nodiscard]] auto empty() noexcept -> bool {
    if (size() != 0) return false;
    const std::lock_guard lock(lock_);  // a thief raises the top before it has checked the bottom
    return size() == 0;
  }

  /// Returns the number of entries that were ever added, minus the number of entries that the owner has removed. A
  /// change shows that the owner is active.
  [[nodiscard]] auto bottom() const noexcept -> std::uint64_t { return bottom_.load(relaxed); }

 private:
  auto find_room(std::uint64_t bottom) noexcept -> bool {
    taken_seen_ = taken_.load(acquire);  // edge slab_deque.taken: observe, before the slots are written again
    return bottom - taken_seen_ <= mask_;
  }

  /// Pops the last entry under the lock, because a thief may be claiming it. Returns false if a thief has taken the
  /// entry.
  auto pop_slow(std::uint64_t bottom, std::uint32_t& entry) noexcept -> bool {
    bottom_.store(bottom, release);  // edge slab_deque.entry: publish the entries that stay
    const std::lock_guard lock(lock_);
    taken_seen_ = top_.load(relaxed);
    if (taken_seen_ == bottom) return false;
    bottom_.store(bottom - 1, relaxed);  // the next thief uses the lock, too
    entry = ring_[(bottom - 1) & mask_].load(relaxed);
    return true;
  }

  asymmetric_barrier& barrier_;
  const std::uint64_t mask_;
  const std::unique_ptr<atomic<std::uint32_t>[]> ring_;  // written by the owner
  alignas(cache_line) atomic<std::uint64_t> bottom_{0};  // the index of the next entry; written by the owner
  std::uint64_t taken_seen_ = 0;                         // used by the owner: the slots below it are free
  alignas(cache_line) atomic<std::uint64_t> top_{0};  // the oldest entry that no thread claims; written under the lock
  atomic<std::uint64_t> taken_{0};                    // slots below it may be filled again; written under the lock
  Lock lock_;                                         // held by threads that steal at the old end
};

}  // namespace braid::detail
