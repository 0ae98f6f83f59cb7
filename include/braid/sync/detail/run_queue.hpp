// braid/sync/detail/run_queue.hpp: the FIFO queue of a worker's own jobs. Other workers may steal half of them at any
// time.
#pragma once

#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/steal_ring.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace braid::detail {

/// A stealable run queue (Tokio's local queue, Go's runq) of elements with a member `T* next`. It is an unbounded FIFO:
/// a ring at each end, and a list between the two rings. In addition, a run-next slot holds one element, which runs
/// before the elements of the queue. Thieves can steal every element, so that no element must wait for a long job of
/// the owner.
///
/// A thief wakes another thief if it leaves elements behind or has stolen more than one element.
///
/// Threads: only the owner may call the functions in the group "Functions for the owner"; any thread may call the
/// others. Blocks: for a lock if the ring is full, or if the ring is empty and the list is not empty. The lock is held
/// while at most half a ring is moved. Protocol: docs/design/run_queue.md
template <typename T, std::size_t Capacity = 256, typename Lock = std::mutex>
class run_queue {
 public:
  // --- Functions for the owner. ---

  /// Appends an element. Cost: two stores. If the ring is full, half of its elements are moved to the list, under a
  /// lock.
  void push(T& element) noexcept {
    seems_empty_ = false;
    while (!back_.try_push(element)) spill();
  }

  /// Stores the element in the run-next slot. If the slot contained an element, that element is appended to the queue.
  /// Cost: two stores if the slot is free, an exchange otherwise.
  void push_next(T& element) noexcept;

  /// Removes the oldest element, or the element in the slot if the queue is empty. Returns null if there is no element.
  /// Cost: a compare-exchange.
  [[nodiscard]] auto pop() noexcept -> T*;

  /// Returns whether the owner's last `pop` has found nothing and nothing was pushed since then. The result may be
  /// false although thieves have taken the last elements.
  /// Cost: a load.
  [[nodiscard]] auto seems_empty() const noexcept -> bool { return seems_empty_; }

  /// Removes and returns the element in the slot. Returns null if the slot is empty. Callers must call `pop` after a
  /// few calls of this function. Otherwise the queue would starve, because each element that runs may fill the slot
  /// again.
  [[nodiscard]] auto pop_next() noexcept -> T* {
    if (next_.load(relaxed) == nullptr) return nullptr;
    // edge run_queue.emptied: publish what the owner has written, before other threads see the empty slot
    return next_.exchange(nullptr, release);
  }

  /// Steals elements for the owner of this queue: the older half of a ring of `other`, or of its list. Returns the
  /// oldest stolen element and appends the others to this queue. Returns null if `other` was empty, except perhaps for
  /// its slot.
  [[nodiscard]] auto steal_half_from(run_queue& other) noexcept -> T*;

  // --- Functions for any thread. ---

  /// Returns a number that identifies the content of the slot. The number is 0 if the slot is empty, and it changes
  /// each time that the owner fills the slot. If a thief reads the same number again after a while, the owner is busy,
  /// and the thief may call `steal_next`.
  [[nodiscard]] auto next_mark() const noexcept -> std::uint64_t {
    return next_.load(relaxed) == nullptr ? 0 : filled_.load(relaxed);
  }

  /// Removes `wanted` if it is the oldest element of the queue and is stored in a ring. Threads: the owner.
  [[nodiscard]] auto try_pop(const T& wanted) noexcept -> bool {
    if (front_.size() != 0) return front_.try_pop(wanted);
    return listed_.load(relaxed) == 0 && back_.try_pop(wanted);
  }

  /// Removes and returns the element in the slot if the slot's number is still `mark`. Otherwise returns null.
  [[nodiscard]] auto steal_next(std::uint64_t mark) noexcept -> T* {
    T* seen = next_.load(relaxed);
    if (seen == nullptr || filled_.load(relaxed) != mark) return nullptr;
    // edge run_queue.next: observe the element; edge run_queue.emptied: publish what the thief has written before
    return next_.compare_exchange_strong(seen, nullptr, acq_rel, relaxed) ? seen : nullptr;
  }

  /// Removes the oldest element, or the element in the slot if the queue is empty. Returns null if there is no element.
  /// Called by threads that have no queue of their own.
  [[nodiscard]] auto steal_one() noexcept -> T*;

  [[nodiscard]] auto approximate_size() const noexcept -> std::size_t {
    // edge run_queue.emptied: observe what was written by the thread that emptied the slot
    return front_.size() + listed_.load(relaxed) + back_.size() + (next_.load(acquire) == nullptr ? 0 : 1);
  }

  /// Returns whether the queue is empty. A worker calls this as its last check before it sleeps. Returns false if the
  /// queue contains an element whose push happened before this call. Elements that a `push_next` or a thief is
  /// currently moving are not counted. If elements were taken, everything that the taking threads have written before
  /// is visible to the caller.
  [[nodiscard]] auto empty() noexcept -> bool {
    if (approximate_size() != 0) return false;
    const std::lock_guard lock(lock_);  // without it, elements that are being moved would be missed
    return approximate_size() == 0;
  }

 private:
  using ring = detail::steal_ring<T, Capacity>;
  using half_ring = std::array<T*, ring::half>;

  void spill() noexcept;
  auto refill() noexcept -> T*;
  auto take_half_of_list(std::span<T*> out) noexcept -> std::size_t;
  auto unlist() noexcept -> T*;

  bool seems_empty_ = true;          // used by the owner: nothing was pushed since the owner last found nothing
  ring front_;                       // the oldest elements
  ring back_;                        // the newest elements
  atomic<T*> next_{nullptr};         // the slot: filled and emptied by the owner, emptied by thieves
  atomic<std::uint64_t> filled_{0};  // the number of times that the owner has filled the slot
  alignas(cache_line) Lock lock_;    // guards the list, and all moves between the list and the rings
  intrusive_queue<T> list_;          // the elements between the rings, added by the owner only
  atomic<std::size_t> listed_{0};    // the number of elements in the list; written under the lock
};

template <typename T, std::size_t Capacity, typename Lock>
void run_queue<T, Capacity, Lock>::push_next(T& element) noexcept {
  seems_empty_ = false;
  filled_.store(filled_.load(relaxed) + 1, relaxed);
  if (next_.load(relaxed) == nullptr) {
    next_.store(&element, release);  // edge run_queue.next: publish the element; only the owner fills it
    return;
  }
  T* const before = next_.exchange(&element, release);  // edge run_queue.next: publish the element, for a thief
  if (before != nullptr) push(*before);
}

template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::pop() noexcept -> T* {
  if (T* oldest = front_.pop()) return oldest;
  if (listed_.load(relaxed) != 0)  // other threads only remove elements, so an empty list is really empty
    if (T* oldest = refill()) return oldest;
  if (T* oldest = back_.pop()) return oldest;
  T* const next = pop_next();
  if (next == nullptr) seems_empty_ = true;
  return next;
}

template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::steal_half_from(run_queue& other) noexcept -> T* {
  half_ring taken;
  const std::span<T*> out(taken.data(), std::min(taken.size(), back_.room() + 1));
  std::size_t count = other.front_.take_half(out);
  if (count == 0) count = other.take_half_of_list(out);
  if (count == 0) count = other.back_.take_half(out);
  if (count == 0) return nullptr;
  if (count > 1) {
    seems_empty_ = false;
    back_.push_all(out.subspan(1, count - 1));
  }
  return taken[0];
}

template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::steal_one() noexcept -> T* {
  std::array<T*, 1> taken{};
  if (front_.take_half(taken) != 0 || take_half_of_list(taken) != 0 || back_.take_half(taken) != 0) return taken[0];
  return steal_next(next_mark());
}

/// Moves the older half of the back ring to the list. This is called when the back ring is full.
template <typename T, std::size_t Capacity, typename Lock>
void run_queue<T, Capacity, Lock>::spill() noexcept {
  half_ring moved;
  const std::lock_guard lock(lock_);
  const std::size_t count = back_.take_half(moved);
  for (std::size_t i = 0; i < count; ++i) list_.push(*moved[i]);
  listed_.store(listed_.load(relaxed) + count, relaxed);
}

/// Removes the oldest element of the list. Moves as many of the next elements to the front ring as fit into it.
template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::refill() noexcept -> T* {
  half_ring moved;
  const std::lock_guard lock(lock_);
  T* const oldest = unlist();
  const std::size_t count = std::min({moved.size(), front_.room(), listed_.load(relaxed)});
  for (std::size_t i = 0; i < count; ++i) moved[i] = unlist();
  front_.push_all({moved.data(), count});
  return oldest;
}

template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::take_half_of_list(std::span<T*> out) noexcept -> std::size_t {
  if (listed_.load(relaxed) == 0) return 0;
  const std::lock_guard lock(lock_);
  const std::size_t count = std::min((listed_.load(relaxed) + 1) / 2, out.size());
  for (std::size_t i = 0; i < count; ++i) out[i] = unlist();
  return count;
}

/// Removes the oldest element of the list, under the lock. Returns null if the list is empty.
template <typename T, std::size_t Capacity, typename Lock>
auto run_queue<T, Capacity, Lock>::unlist() noexcept -> T* {
  T* const oldest = list_.pop();
  if (oldest != nullptr) listed_.store(listed_.load(relaxed) - 1, relaxed);
  return oldest;
}

}  // namespace braid::detail
