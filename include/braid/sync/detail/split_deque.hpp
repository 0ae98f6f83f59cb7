// braid/sync/detail/split_deque.hpp: a work-stealing deque. Its owner needs no atomic read-modify-writes while no thief
// requests entries.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/contention.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace braid::detail {

/// A deque of pointers. One thread, the owner, pushes and pops at the new end, while other threads steal at the old
/// end. The older part is shared; the newer part is private to the owner. If nothing is shared, a thief sets a request,
/// and the owner shares half of its entries at its next push. If the owner runs a long job and does not push, a thief
/// moves the border itself. Everything that was written before `try_push` is visible to the thread that takes the
/// entry.
///
/// Threads: any thread may call `steal`, `take`, `ask`, `shared_size`, `is_held_back` and `wanted`; only the owner may
/// call the other functions.
/// Blocks: never.
/// Source: van Dijk, van de Pol, "Lace: Non-blocking Split Deque for Work-Stealing", 2014; the asymmetric Dekker
/// protocol of Frigo, Leiserson, Randall, "The implementation of the Cilk-5 multithreaded language", 1998.
/// Protocol: docs/design/split_deque.md
template <typename T>
class split_deque {
 public:
  static constexpr std::size_t capacity_limit = std::size_t{1} << 14U;

  /// Constructs an empty deque with room for `capacity` entries, which grows by doubling up to `max_capacity`. Requires
  /// that both capacities are powers of two of at most `capacity_limit`. The barrier must outlive the deque.
  split_deque(std::size_t capacity, asymmetric_barrier& barrier, std::size_t max_capacity);
  split_deque(std::size_t capacity, asymmetric_barrier& barrier) : split_deque(capacity, barrier, capacity) {}

  /// Adds an entry at the new end. Returns false if the deque is full or memory is exhausted; the caller then runs the
  /// entry itself. Threads: the owner. Cost: two stores and three loads. If a thief has requested entries, an
  /// additional atomic read-modify-write. When the deque grows, an allocation of a new ring.
  [[nodiscard]] auto try_push(T& entry) noexcept -> bool {
    const bool pushed = try_push_privately(entry);
    if (pushed && wanted() && is_asked()) [[unlikely]]
      share();
    return pushed;
  }

  /// Pushes as `try_push` does, but the caller must check whether a thief has requested entries, and share them.
  /// Threads: the owner.
  [[nodiscard]] auto try_push_privately(T& entry) noexcept -> bool {
    const index head = head_.load(relaxed);
    if (head == room_end_ && !find_room()) [[unlikely]]
      return false;
    slots_[head & mask_].store(&entry, relaxed);  // no thief reads the slot before it has seen the next line
    head_.store(head + 1, release);               // edge split_deque.added: publish the entry to a thief that takes
    asymmetric_barrier::light_if_asymmetric();    // this precedes the load of the request
    return true;
  }

  /// Removes the newest entry. Returns null if the deque is empty, which means that thieves have taken all entries that
  /// the owner has not popped. Threads: the owner. Cost: three loads and a store. An additional compare-exchange if the
  /// private part is empty and the shared part is not, or if a thief has requested entries.
  [[nodiscard]] auto pop() noexcept -> T* {
    const index head = head_.load(relaxed) - 1;
    head_.store(head, release);                 // edge split_deque.added: publish the entries below
    asymmetric_barrier::light_if_asymmetric();  // a thief that does not see the new head has raised the limit
    if (distance(limit_.load(relaxed), head) < 0) [[unlikely]]
      return pop_carefully(head);
    return slots_[head & mask_].load(relaxed);
  }

  /// Shares the older half of the private part, at least one entry, and clears the request. Does nothing if the private
  /// part is empty. Returns the number of shared entries. Everything that was written before the `ask` that this call
  /// answers is visible to the owner afterwards. Threads: the owner. Cost: two atomic read-modify-writes.
  auto share() noexcept -> std::size_t;

  /// Steals the oldest shared entry. If nothing is shared, returns null and sets a request for the owner. Threads: any,
  /// including the owner. Cost: one compare-exchange, and the transfer of three cache lines.
  [[nodiscard]] auto steal() noexcept -> T*;

  /// Steals an entry although the owner has not answered a request, and shares half of the private part for other
  /// thieves. Returns null if there is no request, if the private part is empty, or if the owner or another thief was
  /// faster.
  /// Threads: any but the owner. Cost: the heavy side of the barrier.
  [[nodiscard]] auto take() noexcept -> T*;

  /// Requests that the owner shares entries at its next push, even if the deque is empty now or has shared entries.
  /// Called by a thread that will not check again by itself.
  /// Threads: any. Cost: one atomic read-modify-write.
  /// edge split_deque.question: both, because the owner must see what was written before this request, and the caller
  /// must see what was written before the last answer
  void ask() noexcept { limit_.exchange(asked, acq_rel); }

  /// Returns whether a request was set since the owner last shared entries. If barriers are symmetric, it may also
  /// return true without a request; `is_asked` is exact.
  [[nodiscard]] auto wanted() const noexcept -> bool { return limit_.load(relaxed) >= guarded; }

  /// Returns whether there is a request. If barriers are symmetric, this call also orders the owner's last push before
  /// the check. So a thief that sets a request after the check observes the pushed entry.
  /// Threads: the owner. Cost: an atomic read-modify-write if barriers are symmetric.
  [[nodiscard]] auto is_asked() noexcept -> bool {
    if (guard_ == 0) return limit_.load(relaxed) == asked;
    // edge split_deque.question: both, because a thief that requests entries later must see the last push
    return limit_.fetch_add(0, acq_rel) == asked;
  }

  /// Returns the number of entries that may be stolen. On threads other than the owner's, the number may be slightly
  /// out of date.
  [[nodiscard]] auto shared_size() const noexcept -> std::size_t { return shared_in(word_.load(relaxed)); }

  /// Returns whether there is a request and the owner has private entries, so that `take` may succeed.
  /// Threads: any.
  [[nodiscard]] auto is_held_back() const noexcept -> bool {
    if (limit_.load(relaxed) != asked) return false;  // the owner is active, so its cache line is left alone
    return private_in(word_.load(relaxed), head_.load(relaxed)) > 0;
  }

  /// Returns the number of private entries. While there is no request, only the owner can take them. Threads: the
  /// owner.
  [[nodiscard]] auto private_size() const noexcept -> std::size_t {
    const index head = head_.load(relaxed);
    const auto count = distance(limit_.load(relaxed), head);
    return count >= 0 ? static_cast<std::size_t>(count) : head - split_in(word_.load(relaxed), head);
  }

  /// Returns the argument for `has_private` that means zero entries. If barriers are symmetric, the value is not 0, so
  /// that `has_private` needs no subtraction in each fork.
  [[nodiscard]] static constexpr auto no_entries(barrier_kind kind) noexcept -> std::int64_t {
    return kind == barrier_kind::symmetric ? -static_cast<std::int64_t>(guarded) : 0;
  }

  /// Returns true if there is no request and at least N entries are private. Pass the sum of N and `no_entries()` as
  /// `count`. Threads: the owner.
  [[nodiscard]] auto has_private(std::int64_t count) const noexcept -> bool {
    return distance(limit_.load(relaxed), head_.load(relaxed)) >= count;
  }

  /// Keeps thieves from moving the border until `unpin`, so that the owner can change data that thieves also change.
  /// Returns false, and pins nothing, if there is a request. Threads: the owner. Cost: a store and a load.
  [[nodiscard]] auto try_pin() noexcept -> bool {
    pinned_.store(1, relaxed);
    asymmetric_barrier::light_if_asymmetric();  // a thief that does not see the pin has raised the limit
    if (!wanted()) [[likely]]
      return true;
    unpin();
    return false;
  }
  void unpin() noexcept { pinned_.store(0, release); }  // edge split_deque.pinned: publish the changes

  /// Returns the index of the next entry, modulo 2^32: a push adds 1, a pop subtracts 1.
  /// Threads: the owner.
  [[nodiscard]] auto position() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(head_.load(relaxed) - first);
  }

 private:
  using index = std::uint64_t;  // never wraps around, and never falls below the index of the first entry
  static constexpr index first = index{1} << 16U;
  static constexpr index asked = ~index{0} >> 1U;
  static constexpr index guarded = index{1} << 62U;

  // A word has three fields. From its low end they are the position of the oldest entry (16 bits), the position of the
  // border (16 bits) and a tag (32 bits). Positions are modulo 2^16. Every move of the border and every careful pop
  // increments the tag.
  using word = std::uint64_t;
  static constexpr word one_split = word{1} << 16U;
  static constexpr word one_tag = word{1} << 32U;

  static auto distance(index from, index to) noexcept -> std::int64_t { return static_cast<std::int64_t>(to - from); }
  static auto tail_of(word value) noexcept -> std::uint16_t { return static_cast<std::uint16_t>(value); }
  static auto border_of(word value) noexcept -> std::uint16_t { return static_cast<std::uint16_t>(value >> 16U); }
  static auto shared_in(word value) noexcept -> std::uint16_t {
    return static_cast<std::uint16_t>(border_of(value) - tail_of(value));
  }
  /// Computes the full index of the border, of which the word contains only 16 bits. Requires that `head` is not below
  /// the border.
  static auto split_in(word value, index head) noexcept -> index {
    return head - static_cast<std::uint16_t>(static_cast<std::uint16_t>(head) - border_of(value));
  }
  /// Returns the number of private entries. It is 0 or less while a pop has lowered the head of an empty private part.
  static auto private_in(word value, index head) noexcept -> std::int16_t {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(head) - border_of(value));
  }
  /// Returns the word that results from `value` when one more entry is stolen. The tag stays unchanged, because it
  /// counts moves of the border.
  static auto one_stolen(word value) noexcept -> word {
    return (value & ~word{0xffff}) | static_cast<std::uint16_t>(tail_of(value) + 1);
  }
  static auto with_border(word value, std::uint16_t border) noexcept -> word {
    return ((value & ~(word{0xffff} << 16U)) | word{border} << 16U) + one_tag;
  }

  /// Returns the limit for a border at `split`. While there is no request, the owner pops without a check down to this
  /// index.
  [[nodiscard]] auto limit_at(index split) const noexcept -> index { return split + guard_; }

  /// A ring of slots. A position modulo the size is the index of its slot. A ring that was replaced by a larger one is
  /// kept, because thieves may still read it. The copies of entries in such a ring stay valid until the entries are
  /// taken.
  struct ring {
    explicit ring(std::size_t size) : mask(size - 1), slots(std::make_unique<atomic<T*>[]>(size)) {}

    [[nodiscard]] auto at(std::uint16_t position) noexcept -> atomic<T*>& { return slots[position & mask]; }

    const std::size_t mask;
    const std::unique_ptr<atomic<T*>[]> slots;
    std::unique_ptr<ring> outgrown;
  };

  /// Returns the entry that is the oldest one according to the word `seen`, which a thief has read.
  [[nodiscard]] auto oldest_in(word seen) noexcept -> T* {
    ring& current = *ring_.load(acquire);  // edge split_deque.ring: observe the slots of a ring that has grown
    return current.at(tail_of(seen)).load(relaxed);
  }

  static auto made(std::size_t capacity, std::size_t max_capacity) -> std::unique_ptr<ring> {
    BRAID_EXPECTS(std::has_single_bit(capacity) && capacity <= max_capacity && std::has_single_bit(max_capacity) &&
                      max_capacity <= capacity_limit,
                  "the capacity of a split deque must be a power of two of at most 2^14");
    return std::make_unique<ring>(capacity);
  }

  auto find_room() noexcept -> bool;
  auto grow(index head, std::uint16_t used) noexcept -> bool;
  auto pop_carefully(index head) noexcept -> T*;

  // The following members are on the cache line of the owner.
  alignas(cache_line) std::unique_ptr<ring> newest_;
  atomic<T*>* slots_;                // the slots of the newest ring
  std::size_t mask_;                 // the mask of the newest ring
  atomic<index> head_{first};        // the index of the next entry; written by the owner
  atomic<std::uint32_t> pinned_{0};  // 1 if thieves must not take now; written by the owner
  index room_end_;     // the index at which the ring was full when the owner last checked; thieves may have moved it on
  const index guard_;  // 0, or `guarded` if barriers are symmetric, and then every pop takes the careful path

  // The owner pops without a check while its head is at or above this limit. Thieves set it to `asked` if nothing is
  // shared, or when they call `ask`. The owner sets it to `limit_at(border)` when it shares or takes back entries.
  alignas(cache_line) atomic<index> limit_;

  // The following members are on the cache line of the thieves. The thread that takes the oldest entry increments the
  // tail. The owner, and thieves in `take`, write the border and the tag.
  alignas(cache_line) atomic<word> word_{0};
  atomic<ring*> ring_;  // the newest, on a cache line that thieves avoid, too; written by the owner
  asymmetric_barrier& barrier_;
  const std::size_t max_capacity_;
};

template <typename T>
split_deque<T>::split_deque(std::size_t capacity, asymmetric_barrier& barrier, std::size_t max_capacity)
    : newest_(made(capacity, max_capacity)),
      slots_(newest_->slots.get()),
      mask_(newest_->mask),
      room_end_(first + capacity),
      guard_(barrier.kind() == barrier_kind::symmetric ? guarded : 0),
      limit_(first + guard_),
      ring_(newest_.get()),
      barrier_(barrier),
      max_capacity_(max_capacity) {}

template <typename T>
auto split_deque<T>::share() noexcept -> std::size_t {
  const index head = head_.load(relaxed);
  word seen = word_.load(relaxed);
  for (bool lowered = false;; lowered = true) {
    const index split = split_in(seen, head);
    const index moved = (head - split + 1) / 2;
    if (moved == 0) {
      if (lowered) limit_.exchange(asked, relaxed);  // the faster thief may not be the thief that set the request
      return 0;
    }
    // The limit is reset before the border moves, so that a later request is not lost. A thief that finds both the new
    // border and a request knows that the request came later. edge split_deque.question: observe what was written
    // before the `ask` that is answered here
    limit_.exchange(limit_at(split + moved), acquire);
    const word next = with_border(seen, static_cast<std::uint16_t>(split + moved));
    // edge split_deque.entry: publish the slots that become stealable
    if (word_.compare_exchange_weak(seen, next, release, relaxed)) return moved;
    note_lost_exchange();
  }
}

template <typename T>
auto split_deque<T>::steal() noexcept -> T* {
  word seen = word_.load(acquire);  // edge split_deque.entry: observe the slots below the border
  while (shared_in(seen) != 0) {
    // The slot is read before the exchange. The exchange succeeds only if the owner has not taken the entry back in the
    // meantime.
    T* const oldest = oldest_in(seen);
    // edge split_deque.taken: publish the read of the slot, which may then be filled again;
    // edge split_deque.entry: observe the slots, if the border has moved
    if (word_.compare_exchange_weak(seen, one_stolen(seen), release, acquire)) return oldest;
    note_lost_exchange();
  }
  // This is an exchange instead of a store, because a store would hide what an earlier `ask` published.
  if (limit_.load(relaxed) != asked) limit_.exchange(asked, relaxed);
  return nullptr;
}

template <typename T>
auto split_deque<T>::take() noexcept -> T* {
  word seen = word_.load(acquire);  // edge split_deque.entry: observe the slots; before the load of the limit
  if (limit_.load(relaxed) != asked || private_in(seen, head_.load(relaxed)) <= 0) return nullptr;
  if (guard_ == 0) barrier_.heavy();  // from here on the owner pops with care, or its head is seen
  const auto count = private_in(seen, head_.load(acquire));  // edge split_deque.added: observe the slots below the head
  // edge split_deque.pinned: observe the changes that the owner made while the border was pinned
  if (count <= 0 || pinned_.load(acquire) != 0) return nullptr;
  T* const oldest = oldest_in(seen);
  const word next = with_border(one_stolen(seen), static_cast<std::uint16_t>(border_of(seen) + (count + 1) / 2));
  // edge split_deque.entry: publish to other thieves the entries that the owner has published by its head; edge
  // split_deque.taken: publish the read of the slot, which may then be filled again
  if (word_.compare_exchange_strong(seen, next, release, relaxed)) return oldest;
  note_lost_exchange();
  return nullptr;
}

/// Pops an entry after `pop` has lowered the head, if a thief may have moved the border. If nothing is private, the
/// owner takes back the newer half of the shared part.
template <typename T>
auto split_deque<T>::pop_carefully(index head) noexcept -> T* {
  word seen = word_.load(relaxed);
  index split = 0;
  word next = 0;
  for (;;) {
    split = split_in(seen, head + 1);
    if (split <= head) {
      next = seen + one_tag;  // the exchange of an earlier thief then fails
    } else if (shared_in(seen) != 0) {
      next = with_border(seen, static_cast<std::uint16_t>(tail_of(seen) + shared_in(seen) / 2));
    } else {
      head_.store(head + 1, release);  // edge split_deque.added: publish the entries below
      return nullptr;
    }
    // edge split_deque.taken: observe that thieves have read the slots; edge split_deque.entry: publish the new head
    if (word_.compare_exchange_weak(seen, next, acq_rel, relaxed)) break;
    note_lost_exchange();
  }
  if (split > head) {
    // A request that was set in the meantime must not be overwritten. If there is such a request, the limit stays
    // unchanged.
    index before = limit_at(split);
    limit_.compare_exchange_strong(before, limit_at(split_in(next, head)), relaxed, relaxed);
  }
  return slots_[head & mask_].load(relaxed);
}

/// Makes room for an entry: first checks how many entries thieves have taken, and if the ring is still full, replaces
/// it by a larger ring. Returns false if that is not possible.
template <typename T>
auto split_deque<T>::find_room() noexcept -> bool {
  const index head = head_.load(relaxed);
  // edge split_deque.taken: observe that thieves have read the slots, which may then be filled again
  const word seen = word_.load(acquire);
  const auto used = static_cast<std::uint16_t>(static_cast<std::uint16_t>(head) - tail_of(seen));
  if (used > mask_ && !grow(head, used)) return false;
  room_end_ = head - used + mask_ + 1;
  return true;
}

/// Replaces the ring by a ring of twice the size. Entries that thieves take at the same time are also copied, but their
/// copies are never read.
template <typename T>
auto split_deque<T>::grow(index head, std::uint16_t used) noexcept -> bool {
  if (mask_ + 1 >= max_capacity_) return false;
  std::unique_ptr<ring> larger;
  try {
    larger = std::make_unique<ring>(2 * (mask_ + 1));
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (index at = head - used; at != head; ++at)
    larger->slots[at & larger->mask].store(slots_[at & mask_].load(relaxed), relaxed);
  larger->outgrown = std::move(newest_);
  newest_ = std::move(larger);
  slots_ = newest_->slots.get();
  mask_ = newest_->mask;
  ring_.store(newest_.get(), release);  // edge split_deque.ring: publish what was copied
  return true;
}

}  // namespace braid::detail
