// braid/sync/detail/small_mutex.hpp: a mutex of one byte for critical sections of a few instructions.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

namespace braid::detail {

/// A mutex for critical sections that are much shorter than a sleep. A std::mutex has forty bytes, is not inlined, and
/// needs a second locked operation to unlock, because a thread may sleep on it. A thread that waits for a small_mutex
/// polls, then yields, and then sleeps for a fixed time between two polls. So unlocking a small_mutex is a plain store.
/// Lock it with a std::lock_guard.
/// Threads: any. Blocks: while another thread holds it. Cost: a locked operation.
class small_mutex {
 public:
  constexpr small_mutex() noexcept = default;
  small_mutex(const small_mutex&) = delete;
  auto operator=(const small_mutex&) -> small_mutex& = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }
  // edge small_mutex.held: publish what was written under the lock
  void unlock() noexcept { held_.store(false, release); }

 private:
  // edge small_mutex.held: observe what earlier holders have written
  [[nodiscard]] auto try_lock() noexcept -> bool { return !held_.exchange(true, acquire); }
  BRAID_API void lock_slowly() noexcept;

  atomic<bool> held_{false};
};

}  // namespace braid::detail
