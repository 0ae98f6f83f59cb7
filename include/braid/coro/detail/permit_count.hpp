// braid/coro/detail/permit_count.hpp: an atomic counter of the free permits of a semaphore, used while no task waits.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace braid::detail {

/// The number of free permits, or a special value, the mark, which says that tasks may be waiting in the semaphore's
/// queue. While the mark is set, no permit is free, and a released permit must be passed to a waiter under the lock of
/// the queue.
/// Threads: any. Cost: a compare-exchange.
/// Protocol: docs/design/coroutine_sync.md
class permit_count {
 public:
  static constexpr std::size_t max = std::numeric_limits<std::size_t>::max() - 1;

  explicit permit_count(std::size_t free) noexcept : word_(std::min(free, max)) {}

  [[nodiscard]] auto free() const noexcept -> std::size_t {
    const std::size_t seen = word_.load(relaxed);
    return seen == awaited ? 0 : seen;
  }

  /// Takes a permit. Returns false if no permit is free.
  [[nodiscard]] auto try_take() noexcept -> bool {
    std::size_t seen = word_.load(relaxed);
    while (seen != 0 && seen != awaited)
      // edge permit_count.free: observe what earlier holders of a permit have written
      if (word_.compare_exchange_weak(seen, seen - 1, acquire, relaxed)) return true;
    return false;
  }

  /// Adds `count` permits. Returns false if tasks may wait; the caller must then pass the permits to them under the
  /// lock.
  [[nodiscard]] auto try_add(std::size_t count) noexcept -> bool {
    std::size_t seen = word_.load(relaxed);
    while (seen != awaited)
      // edge permit_count.free: publish what this holder of a permit has written
      if (word_.compare_exchange_weak(seen, seen + std::min(count, max - seen), release, relaxed)) return true;
    return false;
  }

  // --- The following functions are called under the lock of the queue. ---

  /// Takes a permit if one is free. Otherwise it sets the mark, and the caller must enter the queue under the same
  /// lock. From then on, released permits are passed to the queue.
  [[nodiscard]] auto take_or_await() noexcept -> bool {
    for (;;) {
      if (try_take()) return true;
      std::size_t none = 0;
      // edge permit_count.free: observe what earlier holders wrote when they cleared the record of the holder
      if (word_.compare_exchange_strong(none, awaited, acquire, relaxed) || none == awaited) return false;
    }
  }

  /// Adds the permits that remain after each waiting task has received a permit.
  void add_to_rest(std::size_t count) noexcept {
    if (try_add(count)) return;
    word_.store(std::min(count, max), release);  // edge permit_count.free: publish what this holder did
  }

 private:
  static constexpr std::size_t awaited = max + 1;  // set and replaced under the lock

  atomic<std::size_t> word_;
};

}  // namespace braid::detail
