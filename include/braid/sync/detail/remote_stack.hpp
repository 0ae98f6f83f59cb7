// braid/sync/detail/remote_stack.hpp: a lock-free stack by which other threads pass elements to a thread that may
// sleep.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <utility>

namespace braid::detail {

/// The outcome of a push.
enum class push_result : std::uint8_t {
  queued,  ///< the owner is awake and will find the element
  wake,    ///< the owner sleeps, and this caller must wake it
  closed,  ///< refused: the element still belongs to the caller
};

/// A stack of elements with a member `T* next`. Any thread pushes, and the owner takes all elements at once. The owner
/// arms the stack before it sleeps. The thread that pushes first to an armed stack must wake the owner. So a burst of
/// pushes costs only one wake.
/// Threads: any thread may call `try_push`; only the owner may call the other functions. Cost: one compare-exchange for
/// a push, one exchange for a take. Protocol: docs/design/remote_stack.md
template <typename T>
class remote_stack {
 public:
  [[nodiscard]] auto try_push(T& element) noexcept -> push_result {
    T* seen = head_.load(relaxed);
    do {
      if (seen == closed()) return push_result::closed;
      element.next = seen == armed() ? nullptr : seen;
      // edge remote_stack.element: publish the element and its link
    } while (!head_.compare_exchange_weak(seen, &element, release, relaxed));
    return seen == armed() ? push_result::wake : push_result::queued;
  }

  /// Removes all elements and returns them, oldest first, linked by `next`. Returns null if there is no element. Also
  /// disarms the stack; a closed stack stays closed.
  [[nodiscard]] auto take() noexcept -> T* {
    const T* seen = head_.load(relaxed);  // only the owner closes, so this cannot turn closed before the exchange
    if (seen == nullptr || seen == closed()) return nullptr;
    // edge remote_stack.element: observe the elements and their links
    return in_order(counted(head_.exchange(nullptr, acquire)));
  }

  /// Returns whether the stack contains elements. On threads other than the owner's the result is approximate.
  [[nodiscard]] auto has_any() const noexcept -> bool {
    const T* seen = head_.load(relaxed);
    return seen != nullptr && seen != armed() && seen != closed();
  }

  /// Announces that the owner is about to sleep. Returns false if the owner must not sleep. There are three reasons:
  /// the stack contains an element, it is closed, or it was armed before and `take` was not called since then.
  [[nodiscard]] auto try_arm() noexcept -> bool {
    T* seen = nullptr;
    is_armed_ = head_.compare_exchange_strong(seen, armed(), relaxed, relaxed) || is_armed_;
    return seen == nullptr;
  }

  /// Returns how many pushes have returned `wake`. Only pushes of elements that `take` has removed are counted. Each
  /// thread whose push returned `wake` wakes the owner, perhaps later. So the owner must wait for that many wakes
  /// before it is destroyed.
  [[nodiscard]] auto wakes() const noexcept -> std::uint32_t { return wakes_; }

  /// Refuses pushes from now on. Returns all elements that were pushed before, as `take` does.
  [[nodiscard]] auto close() noexcept -> T* {
    // edge remote_stack.element: observe the elements and their links
    return in_order(counted(head_.exchange(closed(), acquire)));
  }

  /// Opens the stack. Requires that it is closed or new.
  void open() noexcept { head_.store(nullptr, relaxed); }

 private:
  static auto armed() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
  static auto closed() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{2}); }

  /// Counts a wake if a push has replaced the armed mark in `head`. Only a push and the owner replace this mark.
  auto counted(T* head) noexcept -> T* {
    if (std::exchange(is_armed_, false) && head != armed()) ++wakes_;
    return head;
  }

  static auto in_order(T* newest) noexcept -> T* {
    if (newest == armed() || newest == closed()) return nullptr;
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  // The newest element, or one of three marks. Null: the stack is empty and the owner is awake. armed(): the stack is
  // empty and the owner sleeps or is about to sleep. closed(): the stack refuses pushes.
  atomic<T*> head_{nullptr};
  bool is_armed_ = false;    // true if the owner has armed the stack since its last take; used by the owner
  std::uint32_t wakes_ = 0;  // the number of pushes that returned `wake`; used by the owner
};

}  // namespace braid::detail
