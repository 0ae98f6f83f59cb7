// braid/sync/detail/steal_ring.hpp: a bounded queue that its owner fills and empties, and from which any thread may
// steal half.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/contention.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace braid::detail {

/// A FIFO queue of pointers to elements. Elements are numbered from 0 in the order in which they were pushed. Element n
/// stays in slot n modulo Capacity until `head_` has passed it. Threads: any thread may call `take_half` and `size`;
/// only the owner may call the other functions. Source: the run queues of Go's scheduler (Vyukov, 2012) and of Tokio
/// (Lerche, 2019). They have one counter that only the owner writes, and one counter that every thread moves by
/// compare-exchange. Protocol: docs/design/run_queue.md
template <typename T, std::size_t Capacity>
class steal_ring {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "the capacity must be a power of two");

 public:
  /// The maximum number of elements that one `take_half` removes.
  static constexpr std::size_t half = Capacity / 2;

  /// Appends an element. Returns false if the ring is full. Cost: two stores.
  [[nodiscard]] auto try_push(T& element) noexcept -> bool {
    const std::uint64_t tail = tail_.load(relaxed);  // only the owner writes it
    if (tail - taken_ == Capacity && room() == 0) return false;
    slot(tail).store(&element, relaxed);  // no other thread reads the slot before the next line
    tail_.store(tail + 1, release);       // edge steal_ring.element: publish the slot and the element
    return true;
  }

  /// Appends all elements. Requires that there is room for them.
  void push_all(std::span<T* const> elements) noexcept {
    std::uint64_t tail = tail_.load(relaxed);
    for (T* element : elements) slot(tail++).store(element, relaxed);
    tail_.store(tail, release);  // edge steal_ring.element: publish the slots and the elements
  }

  /// Returns the number of elements for which there is room. Other threads can only increase this number.
  [[nodiscard]] auto room() noexcept -> std::size_t {
    // edge steal_ring.taken: observe that the taking threads have read the slots, which may then be filled again
    taken_ = head_.load(acquire);
    return Capacity - (tail_.load(relaxed) - taken_);
  }

  /// Removes and returns the oldest element. Returns null if the ring is empty. Cost: a compare-exchange.
  [[nodiscard]] auto pop() noexcept -> T* {
    const std::uint64_t tail = tail_.load(relaxed);
    std::uint64_t head = head_.load(relaxed);
    while (head != tail) {
      T* oldest = slot(head).load(relaxed);
      // edge steal_ring.taken: publish what the owner has written before, as `size` promises
      if (head_.compare_exchange_weak(head, head + 1, release, relaxed)) return oldest;
      note_lost_exchange();
    }
    return nullptr;
  }

  /// Removes `wanted` if it is the oldest element.
  [[nodiscard]] auto try_pop(const T& wanted) noexcept -> bool {
    std::uint64_t head = head_.load(relaxed);
    if (head == tail_.load(relaxed) || slot(head).load(relaxed) != &wanted) return false;
    // edge steal_ring.taken: publish what the owner has written before, as `size` promises
    return head_.compare_exchange_strong(head, head + 1, release, relaxed);
  }

  /// Removes the older half of the elements, rounded up, but not more than `out` can hold. Writes them to `out`, oldest
  /// first, and returns the number of removed elements.
  [[nodiscard]] auto take_half(std::span<T*> out) noexcept -> std::size_t {
    std::uint64_t head = head_.load(relaxed);
    for (;;) {
      const std::uint64_t tail = tail_.load(acquire);  // edge steal_ring.element: observe the slots and the elements
      if (tail <= head) return 0;                      // the tail is below the head if its value is the older one
      const std::size_t count = std::min<std::size_t>((tail - head + 1) / 2, out.size());
      for (std::size_t i = 0; i < count; ++i) out[i] = slot(head + i).load(relaxed);
      // The values that this thread has read are valid if no other thread has moved the head in the meantime, because a
      // slot is filled again only after the head has passed it. edge steal_ring.taken: publish the reads of the slots,
      // which may then be filled again, and what this thread has written before
      if (head_.compare_exchange_strong(head, head + count, release, relaxed)) return count;
      note_lost_exchange();
    }
  }

  /// Returns the number of elements. The number is exact while no thread pushes or takes elements; otherwise it is
  /// approximate. If the push of an element happens before this call, and the element was not taken, the result is at
  /// least 1. If elements were taken, everything that the taking threads have written before is visible to the caller.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::uint64_t tail = tail_.load(relaxed);
    const std::uint64_t head = head_.load(acquire);  // edge steal_ring.taken: observe what the takers had done before
    return head < tail ? tail - head : 0;
  }

 private:
  auto slot(std::uint64_t number) noexcept -> atomic<T*>& { return slots_[number % Capacity]; }

  alignas(cache_line) atomic<std::uint64_t> head_{0};  // number of the oldest element; moved by takers
  alignas(cache_line) atomic<std::uint64_t> tail_{0};  // number of the next element; written by the owner
  std::uint64_t taken_ = 0;                            // the owner's copy of the head, which may be outdated
  std::array<atomic<T*>, Capacity> slots_{};           // written by the owner
};

}  // namespace braid::detail
