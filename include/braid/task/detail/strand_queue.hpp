// braid/task/detail/strand_queue.hpp: the lock-free MPSC queue of a serial executor, and the right to drain it.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// The outcome of a push to a strand (the queue of a serial executor).
enum class strand_push : std::uint8_t {
  queued,  ///< the thread that holds the strand will run it
  first,   ///< no thread held the strand; now the caller does
};

/// A lock-free MPSC queue of elements with a member `T* next`. Any thread may push. The thread that owns the strand
/// removes elements. At most one thread at a time owns the strand. Everything that earlier owners have written is
/// visible to the owner. Threads: any thread may call `push` and `is_idle`; only the thread that owns the strand may
/// call the other functions. Protocol: docs/design/serial_executor.md
template <typename T>
class strand_queue {
 public:
  /// Creates an empty queue that no thread owns.
  strand_queue() noexcept : head_(idle()) {}
  /// A tag for the constructor of an empty queue that the constructing thread owns.
  struct held {};
  explicit strand_queue(held /*by the caller*/) noexcept : head_(nullptr) {}

  auto push(T& element) noexcept -> strand_push {
    T* seen = head_.load(relaxed);
    do {
      element.next = seen == idle() ? nullptr : seen;
      // edge strand.job: publish the element; edge strand.owner: observe what the last owner has written
    } while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
    return seen == idle() ? strand_push::first : strand_push::queued;
  }

  /// Removes all elements and returns them, oldest first, linked by `next`. Returns null if the queue is empty.
  [[nodiscard]] auto take() noexcept -> T* {
    if (head_.load(relaxed) == nullptr) return nullptr;
    return in_order(head_.exchange(nullptr, acquire));  // edge strand.job: observe the elements
  }

  /// Releases the strand. Returns false if a job was pushed since the last `take`; the caller then still owns the
  /// strand.
  [[nodiscard]] auto try_release() noexcept -> bool {
    T* seen = head_.load(relaxed);
    if (seen != nullptr) return false;
    // edge strand.owner: publish what this owner has written, so that the next owner sees it
    return head_.compare_exchange_strong(seen, idle(), release, relaxed);
  }

  /// Returns whether no thread owns the strand. If so, everything that earlier owners have written is visible.
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

  // The value idle() means that the queue is empty and no thread owns the strand. Null means that the queue is empty
  // and a thread owns the strand. Any other value is the newest element, and a thread owns the strand.
  atomic<T*> head_;
};

}  // namespace braid::detail
