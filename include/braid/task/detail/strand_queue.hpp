// braid/task/detail/strand_queue.hpp: the lock-free MPSC queue of a serial executor, and the right to drain it.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// The outcome of a push to a strand.
enum class strand_push : std::uint8_t {
  queued,  ///< the thread that holds the strand will run it
  first,   ///< no thread held the strand; now the caller does
};

/// A lock-free MPSC queue of elements with a member `T* next`. Any thread pushes; the thread that holds the strand
/// takes. At most one thread at a time holds it, and sees everything that the holders before it did.
/// Threads: `push` and `is_idle` from any; the rest from the thread that holds the strand.
/// Protocol: docs/design/serial_executor.md
template <typename T>
class strand_queue {
 public:
  /// Creates an empty queue that no thread holds.
  strand_queue() noexcept : head_(idle()) {}
  /// Empty too, but held by the constructing thread.
  struct held {};
  explicit strand_queue(held /*by the caller*/) noexcept : head_(nullptr) {}

  auto push(T& element) noexcept -> strand_push {
    T* seen = head_.load(relaxed);
    do {
      element.next = seen == idle() ? nullptr : seen;
      // edge strand.job: publish the element; edge strand.owner: observe what the last holder did
    } while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
    return seen == idle() ? strand_push::first : strand_push::queued;
  }

  /// Everything that was pushed, the oldest first, linked by `next`. Null when there is nothing.
  [[nodiscard]] auto take() noexcept -> T* {
    if (head_.load(relaxed) == nullptr) return nullptr;
    return in_order(head_.exchange(nullptr, acquire));  // edge strand.job: observe the elements
  }

  /// Releases the strand. Returns false if a job was pushed meanwhile: then the caller still holds the strand.
  [[nodiscard]] auto try_release() noexcept -> bool {
    T* seen = head_.load(relaxed);
    if (seen != nullptr) return false;
    // edge strand.owner: publish what this holder did, for the next one
    return head_.compare_exchange_strong(seen, idle(), release, relaxed);
  }

  /// Returns whether no thread holds the strand. Everything that earlier holders did is visible then.
  [[nodiscard]] auto is_idle() const noexcept -> bool {
    return head_.load(acquire) == idle();  // edge strand.owner: observe what the last holder did
  }

 private:
  static auto idle() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }

  static auto in_order(T* newest) noexcept -> T* {
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* const older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  // idle(): empty, not held · null: empty, held · anything else: the newest element; held
  atomic<T*> head_;
};

}  // namespace braid::detail
