// braid/coro/async_mutex.hpp: a lock that a task may hold while it waits for something else.
#pragma once

#include <braid/coro/async_semaphore.hpp>

#include <optional>

namespace braid {

/// Fair (FIFO) mutex for tasks: one at a time holds it; the others, of any home, wait without blocking their threads,
/// and get it in the order in which they came. A lock that is never held across a wait is better a std::mutex.
/// Threads: any; it may be given back by another thread than the one that took it. Lifetime: outlives its guards and
/// the waiting tasks. Cost: as an async_semaphore.
class async_mutex {
 public:
  /// Holds the lock until it is destroyed, or `release` is called.
  using guard = async_semaphore::permit;

  /// `const auto held = co_await mutex.lock();`
  [[nodiscard]] auto lock() noexcept { return semaphore_.acquire(); }
  [[nodiscard]] auto try_lock() noexcept -> std::optional<guard> { return semaphore_.try_acquire(); }
  [[nodiscard]] auto is_locked() const noexcept -> bool { return semaphore_.available() == 0; }

 private:
  async_semaphore semaphore_{1};
};

}  // namespace braid
