// braid/task/detail/slab_lock.hpp: a biased lock of two bytes. One thread can lock it without locked operations, until
// another thread uses the lock.
#pragma once

#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/let_others_run.hpp>

#include <cstdint>

namespace braid::detail {

/// A biased lock, as in earlier Java virtual machines. The bias owner (`bias_owner`) locks it with a plain store, and
/// then checks that the bias was not revoked (`revoked`). All other threads use the lock word. The first thread that
/// locks the lock word revokes the bias: it calls the barrier's `heavy` and waits until the bias owner has left. From
/// then on, until `unlock_and_rebias`, all threads use the lock word. The bias may pass from thread to thread by any
/// synchronization. No code of the program runs while the lock is held. Source: Kawachiya, Koseki, Onodera, "Lock
/// reservation", 2002.
/// Protocol: docs/design/job_slab.md
class slab_lock {
 public:
  /// Makes all threads use the lock word from now on. Call it while you hold the lock, or before other threads can
  /// access the lock.
  void revoke() noexcept { word_.fetch_or(revoked, relaxed); }

  /// Locks the lock for the bias owner. Returns true if the lock word was not needed; the caller must then unlock with
  /// `leave`. If this returns false, the caller must unlock with `unlock`.
  [[nodiscard]] auto enter(asymmetric_barrier& barrier) noexcept -> bool {
    inside_.store(1, relaxed);
    barrier.light();
    if (word_.load(relaxed) == 0) return true;  // only the bias owner stores 0, so there is nothing to acquire
    inside_.store(0, release);                  // edge slab_lock.bias: publish that nothing was done inside
    lock(barrier);
    return false;
  }

  void leave() noexcept { inside_.store(0, release); }  // edge slab_lock.bias: publish what was done inside

  [[gnu::noinline]] void lock(asymmetric_barrier& barrier) noexcept {
    std::uint8_t seen = word_.load(relaxed);
    // edge slab_lock.revoked: observe what the last holder wrote under the lock
    while ((seen & locked) != 0 || !word_.compare_exchange_weak(seen, seen | locked, acquire, relaxed)) {
      let_others_run();
      seen = word_.load(relaxed);
    }
    if ((seen & revoked) != 0) return;
    barrier.heavy();
    while (!is_left()) let_others_run();
  }

  void unlock() noexcept { word_.store(revoked, release); }  // edge slab_lock.revoked: publish what was done inside

  /// Unlocks as `unlock` does, and makes the calling thread the bias owner again. Requires that no other thread calls
  /// `enter`.
  void unlock_and_rebias() noexcept {
    word_.store(0, release);  // edge slab_lock.revoked: publish what was done inside
  }

  /// Returns true if the bias owner does not hold the lock. Everything that the bias owner wrote under the lock is then
  /// visible.
  [[nodiscard]] auto is_left() const noexcept -> bool {
    return inside_.load(acquire) == 0;  // edge slab_lock.bias: observe what that thread did inside
  }

 private:
  static constexpr std::uint8_t locked = 1;
  static constexpr std::uint8_t revoked = 2;

  atomic<std::uint8_t> word_{0};    // `locked` while a thread holds the lock word; `revoked` once a thread has held it
  atomic<std::uint8_t> inside_{0};  // 1 while the bias owner holds the lock, or tries to; written by the bias owner
};

}  // namespace braid::detail
