// braid/sync/detail/small_mutex.hpp: a lock of four bytes, for sections of a few instructions.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <cstdint>

namespace braid::detail {

/// A mutex for objects of which there are many, and which are hardly ever used by two threads at once: std::mutex has
/// forty bytes, and its calls are not inlined. Lock it with a std::lock_guard.
/// Threads: any. Blocks: while another thread holds it. Cost: two locked operations.
/// Source: Drepper, "Futexes are tricky", 2011, mutex2.
class small_mutex {
 public:
  constexpr small_mutex() noexcept = default;
  small_mutex(const small_mutex&) = delete;
  auto operator=(const small_mutex&) -> small_mutex& = delete;

  void lock() noexcept {
    std::uint32_t seen = free;
    // edge small_mutex.held: observe what earlier holders did
    if (!word_.compare_exchange_strong(seen, held, acquire, relaxed)) [[unlikely]]
      lock_slowly();
  }

  void unlock() noexcept {
    // edge small_mutex.held: publish what was done inside
    if (word_.exchange(free, release) == contended) [[unlikely]]
      futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t contended = 2;  // held, and a thread may sleep for it

  /// A thread that has slept does not know whether others still do, so it holds the lock as a contended one.
  void lock_slowly() noexcept {
    // edge small_mutex.held: observe what earlier holders did
    while (word_.exchange(contended, acquire) != free) futex_wait(word_, contended);
  }

  atomic<std::uint32_t> word_{free};
};

}  // namespace braid::detail
