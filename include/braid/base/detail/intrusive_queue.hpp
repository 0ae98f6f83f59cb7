// braid/base/detail/intrusive_queue.hpp: a FIFO queue of elements that contain their own `next` pointer.
#pragma once

#include <cstddef>
#include <utility>

namespace braid::detail {

/// A queue of elements with a member `T* next`. The queue uses this member while an element is in the queue.
/// Threads: one at a time. Cost: two stores to push, one load and one store to pop.
template <typename T>
class intrusive_queue {
 public:
  intrusive_queue() = default;
  intrusive_queue(intrusive_queue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  auto operator=(intrusive_queue&&) -> intrusive_queue& = delete;

  [[nodiscard]] auto empty() const noexcept -> bool { return first_ == nullptr; }

  void push(T& element) noexcept {
    element.next = nullptr;
    if (first_ == nullptr)
      first_ = &element;
    else
      last_->next = &element;
    last_ = &element;
  }

  /// Appends a chain of elements that is linked by `next` and ends with null.
  void push_chain(T* first) noexcept {
    while (first != nullptr) push(*std::exchange(first, first->next));
  }

  /// Appends all elements of `other`, which is empty afterwards.
  void append(intrusive_queue& other) noexcept {
    if (other.first_ == nullptr) return;
    (first_ == nullptr ? first_ : last_->next) = std::exchange(other.first_, nullptr);
    last_ = other.last_;
  }

  /// Returns the newest element without removing it, or null if the queue is empty.
  [[nodiscard]] auto newest() const noexcept -> T* { return first_ == nullptr ? nullptr : last_; }

  /// Removes and returns the oldest element, or returns null if the queue is empty.
  [[nodiscard]] auto pop() noexcept -> T* {
    T* taken = first_;
    if (taken != nullptr) first_ = taken->next;
    return taken;
  }

  /// Removes the element if it is among the first `max_count`. Returns whether it was removed.
  [[nodiscard]] auto try_take(const T& element, std::size_t max_count) noexcept -> bool {
    T* before = nullptr;
    for (T* at = first_; at != nullptr && max_count > 0; --max_count, before = at, at = at->next) {
      if (at != &element) continue;
      (before == nullptr ? first_ : before->next) = at->next;
      if (last_ == at) last_ = before;
      return true;
    }
    return false;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;  // only valid while first_ is not null
};

}  // namespace braid::detail
