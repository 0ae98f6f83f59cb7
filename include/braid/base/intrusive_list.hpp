// braid/base/intrusive_list.hpp: doubly linked lists whose elements contain the links: no allocation, O(1) removal.
#pragma once

#include <braid/base/config.hpp>

#include <type_traits>

namespace braid {

namespace detail {
struct debug_layout;
}

/// The base class of the elements of an `intrusive_list`. An element is in at most one list at a time. Threads: the
/// same as for the list. Lifetime: an element must leave its list before it is destroyed.
class list_hook {
 public:
  list_hook() = default;
  list_hook(const list_hook&) = delete;
  auto operator=(const list_hook&) -> list_hook& = delete;
  ~list_hook() { BRAID_ASSERT(!is_linked(), "an element must leave its list before it is destroyed"); }

  [[nodiscard]] auto is_linked() const noexcept -> bool { return next_ != nullptr; }

  /// Removes the element from its list. Requires that the element is in a list.
  void unlink() noexcept {
    BRAID_ASSERT(is_linked(), "only an element that is in a list can be removed");
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  template <typename T, typename Hook>
  friend class intrusive_list;
  friend struct detail::debug_layout;

  void link_before(list_hook& place) noexcept {
    BRAID_ASSERT(!is_linked(), "an element may only be in one list at a time");
    next_ = &place;
    previous_ = place.previous_;
    previous_->next_ = this;
    place.previous_ = this;
  }

  list_hook* previous_ = nullptr;
  list_hook* next_ = nullptr;
};

/// A list of elements that derive from `list_hook`. The list does not own its elements. An element that can be in
/// several lists derives from a separate `Hook` class for each list. Each `Hook` derives from `list_hook`.
/// Threads: one at a time. Lifetime: a list cannot be moved, because its first and last elements point to it.
template <typename T, typename Hook = list_hook>
class intrusive_list {
 public:
  intrusive_list() noexcept { head_.previous_ = head_.next_ = &head_; }
  intrusive_list(const intrusive_list&) = delete;
  auto operator=(const intrusive_list&) -> intrusive_list& = delete;
  ~intrusive_list() {
    BRAID_ASSERT(empty(), "a list must be empty when it is destroyed");
    head_.previous_ = head_.next_ = nullptr;
  }

  [[nodiscard]] auto empty() const noexcept -> bool { return head_.next_ == &head_; }
  [[nodiscard]] auto front() noexcept -> T& { return element(*head_.next_); }
  [[nodiscard]] auto front() const noexcept -> const T& { return element(*head_.next_); }

  void push_back(T& element) noexcept { hook(element).link_before(head_); }
  void push_front(T& element) noexcept { hook(element).link_before(*head_.next_); }

  /// Inserts `element` after the last element for which `precedes(other)` is true. If there is no such element, inserts
  /// `element` at the front.
  template <typename Fn>
  void insert_behind(T& element, Fn&& precedes) {
    list_hook* at = head_.previous_;
    while (at != &head_ && !precedes(intrusive_list::element(*at))) at = at->previous_;
    hook(element).link_before(*at->next_);
  }

  /// Removes the first element, and returns it. Returns null if the list is empty.
  [[nodiscard]] auto pop_front() noexcept -> T* {
    if (empty()) return nullptr;
    T& first = front();
    hook(first).unlink();
    return &first;
  }

  /// Moves all elements of `other`, which must be another list, to the end of this list.
  void splice_back(intrusive_list& other) noexcept {
    BRAID_ASSERT(&other != this, "a list cannot be appended to itself");
    if (other.empty()) return;
    list_hook& first = *other.head_.next_;
    list_hook& last = *other.head_.previous_;
    first.previous_ = head_.previous_;
    head_.previous_->next_ = &first;
    last.next_ = &head_;
    head_.previous_ = &last;
    other.head_.previous_ = other.head_.next_ = &other.head_;
  }

  /// Calls `fn(element)` for each element, in order. `fn` must not change the list.
  template <typename Fn>
  void for_each(Fn&& fn) {
    for (list_hook* at = head_.next_; at != &head_; at = at->next_) fn(element(*at));
  }

 private:
  static auto hook(T& element) noexcept -> list_hook& { return static_cast<Hook&>(element); }
  static auto element(list_hook& hook) noexcept -> T& {
    static_assert(std::is_base_of_v<Hook, T>, "the elements must derive from the hook of the list");
    return static_cast<T&>(static_cast<Hook&>(hook));
  }

  list_hook head_;
};

}  // namespace braid
