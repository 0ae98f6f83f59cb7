// braid/task/detail/strand_queue.hpp: the lock-free MPSC queue of a strand, and the right to drain it.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// What became of a job that was sent to a strand.
enum class strand_push : std::uint8_t {
  queued,  ///< the thread that holds the strand comes to it
  first,   ///< no thread held the strand; now the caller does
  closed,  ///< refused: the job still belongs to the caller
};

/// Lock-free MPSC queue of elements with a member `T* next`. Any thread pushes; the thread that holds the strand takes.
/// One thread at a time holds it, or none, and sees everything that the holders before it did.
/// Threads: `try_push` and `is_idle` from any; the rest from the thread that holds the strand.
/// Protocol: docs/design/strand.md
template <typename T>
class strand_queue {
 public:
  /// Empty, and held by no thread.
  strand_queue() noexcept : head_(idle()) {}
  /// Empty too, but held by the constructing thread.
  struct held {};
  explicit strand_queue(held /*by the caller*/) noexcept : head_(nullptr) {}

  [[nodiscard]] auto try_push(T& element) noexcept -> strand_push {
    T* seen = head_.load(relaxed);
    do {
      if (seen == closed() || seen == closed_for_good()) return strand_push::closed;
      element.next = seen == idle() ? nullptr : seen;
      // edge strand.job: publish the element; edge strand.owner: observe what the last holder did
    } while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
    return seen == idle() ? strand_push::first : strand_push::queued;
  }

  /// Everything that was pushed, the oldest first, linked by `next`. Null when there is nothing.
  [[nodiscard]] auto take() noexcept -> T* {
    T* const seen = head_.load(relaxed);
    if (seen == nullptr || seen == closed()) return nullptr;
    return in_order(head_.exchange(nullptr, acquire));  // edge strand.job: observe the elements
  }

  /// Releases the strand. False when something was pushed meanwhile: then the caller still holds it.
  [[nodiscard]] auto try_release() noexcept -> bool {
    T* seen = head_.load(relaxed);
    if (seen != nullptr && seen != closed()) return false;
    // edge strand.owner: publish what this holder did, for the next one
    return head_.compare_exchange_strong(seen, seen == nullptr ? idle() : closed_for_good(), release, relaxed);
  }

  /// Refuses pushes from now on, and gives what was pushed before, as `take` does. The caller still holds the strand.
  [[nodiscard]] auto close() noexcept -> T* {
    return in_order(head_.exchange(closed(), acquire));  // edge strand.job: observe the elements
  }

  /// Whether no thread holds the strand. Everything that earlier holders did is visible then.
  [[nodiscard]] auto is_idle() const noexcept -> bool {
    const T* const seen = head_.load(acquire);  // edge strand.owner: observe what the last holder did
    return seen == idle() || seen == closed_for_good();
  }

 private:
  static auto idle() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
  static auto closed() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{2}); }
  static auto closed_for_good() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{3}); }

  static auto in_order(T* newest) noexcept -> T* {
    if (newest == closed()) return nullptr;
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* const older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  // idle(): empty, not held · null: empty, held · closed(): the same, and pushes are refused
  // closed_for_good(): refused, and not held · anything else: the newest element; held
  atomic<T*> head_;
};

}  // namespace braid::detail
