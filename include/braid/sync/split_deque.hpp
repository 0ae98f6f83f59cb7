// braid/sync/split_deque.hpp: a deque of pointers whose owner pays for no atomic until somebody else asks for entries.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace braid {

/// Pointers that one thread, the owner, adds and takes at the new end, while others take at the old end. The older part
/// is shared, the newer part private to the owner; the border moves only by the owner's doing. A thief that finds
/// nothing shared asks, and the owner shares half of what it has at its next push. What was written before `try_push`
/// is visible to whoever takes the entry.
///
/// Threads: one owner; `steal`, `shared_size` and `wanted` from any. Blocks: never.
/// Source: van Dijk, van de Pol, "Lace: Non-blocking Split Deque for Work-Stealing", 2014.
/// Protocol: docs/design/split_deque.md
template <typename T>
class split_deque {
 public:
  static constexpr std::size_t most_capacity = std::size_t{1} << 15U;

  /// An empty deque. Requires: `capacity` is a power of two of at most `most_capacity`.
  explicit split_deque(std::size_t capacity);

  /// Adds at the new end. False when full: the caller then runs the entry itself. Threads: the owner.
  /// Cost: two stores and two loads; a read-modify-write more when a thief has asked.
  [[nodiscard]] auto try_push(T& entry) noexcept -> bool {
    if (head_ == room_end_ && !find_room()) [[unlikely]]
      return false;
    ring_[head_ & mask_].store(&entry, relaxed);  // no thief looks here before a share
    ++head_;
    if (wanted()) [[unlikely]]
      share();
    return true;
  }

  /// Takes at the new end: the entry that was added last of those still there; null when there is none. Null also
  /// says that each entry ever added was taken. Threads: the owner.
  /// Cost: two loads and a store; a compare-exchange more when the private part is empty and the shared part is not.
  [[nodiscard]] auto pop() noexcept -> T* {
    if (head_ == split_ && !retract()) [[unlikely]]
      return nullptr;
    return ring_[--head_ & mask_].load(relaxed);
  }

  /// Shares the older half of the private part, at least one entry; nothing when it is empty. `try_push` does it when a
  /// thief has asked; call it when a thread is known to be idle. Threads: the owner. Cost: one read-modify-write.
  void share() noexcept;

  /// Takes at the old end. Null when nothing is shared; the owner then learns that somebody asked.
  /// Threads: any, the owner too. Cost: one compare-exchange, and the transfer of three cache lines.
  [[nodiscard]] auto steal() noexcept -> T*;

  /// Whether a thief has asked since the owner last shared.
  [[nodiscard]] auto wanted() const noexcept -> bool { return want_.load(relaxed) != 0; }

  /// How many entries may be stolen. From other threads than the owner: at some moment not long ago.
  [[nodiscard]] auto shared_size() const noexcept -> std::size_t { return shared_in(word_.load(relaxed)); }

  /// How many entries only the owner can take. Threads: the owner.
  [[nodiscard]] auto private_size() const noexcept -> std::size_t { return head_ - split_; }

 private:
  // The word, from its low end: position of the oldest entry (16 bits), position of the border (16), tag (32).
  // Positions are taken modulo 2^16; every share adds to the tag.
  using word = std::uint64_t;
  static constexpr word one_split = word{1} << 16U;
  static constexpr word one_tag = word{1} << 32U;

  static auto tail_of(word value) noexcept -> std::uint16_t { return static_cast<std::uint16_t>(value); }
  static auto shared_in(word value) noexcept -> std::uint16_t {
    return static_cast<std::uint16_t>(static_cast<std::uint16_t>(value >> 16U) - tail_of(value));
  }
  static auto one_stolen(word value) noexcept -> word {
    return (value & ~word{0xffff}) | static_cast<std::uint16_t>(tail_of(value) + 1);
  }
  static auto one_kept_of_two(word value) noexcept -> word {
    const auto split = static_cast<std::uint16_t>(tail_of(value) + shared_in(value) / 2);
    return (value & ~(word{0xffff} << 16U)) | word{split} << 16U;
  }

  auto find_room() noexcept -> bool;
  auto retract() noexcept -> bool;

  // The owner's line. Positions run on modulo 2^32; the slot of a position is its remainder by the capacity.
  alignas(cache_line) const std::unique_ptr<atomic<T*>[]> ring_;
  const std::uint32_t mask_;
  std::uint32_t head_ = 0;   // where the next entry goes
  std::uint32_t split_ = 0;  // the oldest private entry; the border in word_ is a copy
  std::uint32_t room_end_;   // where the ring was full when the owner last looked; thieves may have moved it on

  // 1: a thief has found nothing shared, written by thieves · 0: written by the owner when it shares
  alignas(cache_line) atomic<std::uint32_t> want_{0};

  // The thieves' line. Tail: +1 by whoever takes the entry there; split and tag: written by the owner.
  alignas(cache_line) atomic<word> word_{0};
  atomic<T*>* const stealable_ = ring_.get();  // as ring_ and mask_, which lie on a line that thieves stay away from
  const std::uint32_t steal_mask_ = mask_;
};

template <typename T>
split_deque<T>::split_deque(std::size_t capacity)
    : ring_(std::make_unique<atomic<T*>[]>(capacity)),
      mask_(static_cast<std::uint32_t>(capacity - 1)),
      room_end_(static_cast<std::uint32_t>(capacity)) {
  BRAID_EXPECTS(std::has_single_bit(capacity) && capacity <= most_capacity,
                "the capacity of a split deque is a power of two of at most 2^15");
}

template <typename T>
void split_deque<T>::share() noexcept {
  const std::uint32_t moved = (head_ - split_ + 1) / 2;
  if (moved == 0) return;                 // who has asked still waits for the next push
  if (wanted()) want_.store(0, relaxed);  // before the border moves: what is asked after that is a new question
  split_ += moved;
  // A border that passes 2^16 carries into the tag, which only has to change.
  word_.fetch_add(one_tag + moved * one_split, release);  // edge split_deque.entry: publish
}

template <typename T>
auto split_deque<T>::steal() noexcept -> T* {
  word seen = word_.load(acquire);  // edge split_deque.entry: observe
  while (shared_in(seen) != 0) {
    // Read before the exchange, which succeeds only if the owner has not taken the slot back meanwhile.
    T* const oldest = stealable_[tail_of(seen) & steal_mask_].load(relaxed);
    // edge split_deque.taken: publish; edge split_deque.entry: observe
    if (word_.compare_exchange_weak(seen, one_stolen(seen), release, acquire)) return oldest;
  }
  if (!wanted()) want_.store(1, relaxed);
  return nullptr;
}

/// Moves the border back over the newer half of the shared part. False when nothing is shared.
template <typename T>
auto split_deque<T>::retract() noexcept -> bool {
  word seen = word_.load(relaxed);
  word next = 0;
  do {
    if (shared_in(seen) == 0) return false;
    next = one_kept_of_two(seen);
  } while (!word_.compare_exchange_weak(seen, next, acquire, relaxed));  // edge split_deque.taken: observe
  split_ -= static_cast<std::uint32_t>(shared_in(seen) - shared_in(next));
  room_end_ = split_ - shared_in(next) + mask_ + 1;
  return true;
}

/// Looks how far thieves have come. False when the ring is full.
template <typename T>
auto split_deque<T>::find_room() noexcept -> bool {
  const word seen = word_.load(acquire);  // edge split_deque.taken: observe
  room_end_ = split_ - shared_in(seen) + mask_ + 1;
  return head_ != room_end_;
}

}  // namespace braid
