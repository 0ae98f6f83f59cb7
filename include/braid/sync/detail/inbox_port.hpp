// braid/sync/detail/inbox_port.hpp: the way of one producer into an inbox: a ring, and a list for what does not fit.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/inbox_slot.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace braid::detail {

/// What a thread keeps of a port, so that it can give it back at its end.
class inbox_port_base {
 public:
  /// For the next producer that asks. False while another has it.
  [[nodiscard]] auto try_use() noexcept -> bool {
    std::uint32_t seen = 0;
    return used_.compare_exchange_strong(seen, 1, acquire, relaxed);  // edge inbox_port.producer: observe
  }

  /// The producer posts here no more.
  void give_back() noexcept { used_.store(0, release); }  // edge inbox_port.producer: publish

 private:
  atomic<std::uint32_t> used_{1};  // whether a thread posts here
};

/// Callables of one producer, in order. All that is in the list is newer than all that is in the ring, until a consumer
/// fetches the whole list: then all that the producer puts into the ring is newer.
/// Threads: the producer for `has_room`, `put` and `spill`; one consumer at a time for `claim` and `half`.
template <std::size_t Capacity, typename Lock>
class inbox_port : public inbox_port_base {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "the capacity is a power of two");

 public:
  /// Callables that did not fit into the ring, as many as make an allocation cheap. Freed by whoever is done with the
  /// last of them.
  struct chunk {
    static constexpr std::uint32_t size = Capacity < 16 ? Capacity : 16;

    /// This many more slots are done with, or will never be used.
    static void release(chunk* of, std::uint32_t slots) noexcept {
      if (of->left.fetch_sub(slots, acq_rel) == slots) delete of;  // edge inbox_port.chunk: both
    }

    chunk* next = nullptr;
    std::uint32_t filled = 0;   // written by the producer, under the lock
    std::uint32_t claimed = 0;  // written by consumers, inside their section
    atomic<std::uint32_t> left{size};
    std::array<inbox_slot, size> slots;
  };

  /// A callable that only this consumer knows any more. It is in the ring or in a chunk until it is done with.
  struct claim_result {
    inbox_slot* slot = nullptr;
    inbox_slot::act_fn act = nullptr;
    chunk* spilled = nullptr;
  };

  inbox_port() = default;
  inbox_port(const inbox_port&) = delete;
  auto operator=(const inbox_port&) -> inbox_port& = delete;

  /// Requires that everything was claimed.
  ~inbox_port() {
    for (chunks& list : lists_)
      while (list.first != nullptr) delete std::exchange(list.first, list.first->next);
  }

  // --- the producer ---

  [[nodiscard]] auto has_room() const noexcept -> bool {
    if (spilled_.load(relaxed) != 0) return false;                 // what comes now is newer than what is in the list
    return slots_[tail_ % Capacity].act.load(acquire) == nullptr;  // edge inbox_port.slot: observe
  }

  /// `fill` puts a callable into a slot and returns its `act`. Requires that there is room.
  template <typename Fill>
  void put(Fill&& fill) {
    inbox_slot& slot = slots_[tail_ % Capacity];
    const inbox_slot::act_fn act = fill(slot);
    slot.act.store(act, release);  // edge inbox_port.callable: publish
    ++tail_;
    count_post();
  }

  /// As `put`, into the list.
  template <typename Fill>
  void spill(Fill&& fill) {
    const std::lock_guard lock(lock_);
    chunk& last = lists_[filled_].with_room();
    inbox_slot& slot = last.slots[last.filled];
    slot.act.store(fill(slot), relaxed);
    ++last.filled;
    spilled_.store(spilled_.load(relaxed) + 1, relaxed);
    count_post();
  }

  // --- a consumer ---

  /// The oldest callable. Without a slot when nothing is here.
  [[nodiscard]] auto claim() noexcept -> claim_result {
    if (claim_result oldest = claim_fetched(); oldest.slot != nullptr) return oldest;
    claim_result oldest = claim_from_ring();
    if (oldest.slot != nullptr || spilled_.load(relaxed) == 0) return oldest;
    const std::lock_guard lock(lock_);
    oldest = claim_from_ring();  // what is in the list has waited for a full ring: it may not have been seen above
    if (oldest.slot != nullptr) return oldest;
    // All at once, so that the producer goes back to its ring: what it posts there from now on is newer.
    filled_ = 1 - filled_;
    spilled_.store(0, relaxed);
    return claim_fetched();
  }

  /// How many to claim for half of what is here, rounded up, but not more than half a ring. About, while it changes.
  [[nodiscard]] auto half() const noexcept -> std::size_t {
    const std::uint64_t taken = taken_.load(relaxed);
    const std::uint64_t posted = posted_.load(relaxed);
    return posted <= taken ? 0 : std::min<std::size_t>((posted - taken + 1) / 2, Capacity / 2);
  }

  /// The claimed callable is gone.
  static void done(const claim_result& claimed) noexcept {
    if (claimed.spilled != nullptr) return chunk::release(claimed.spilled, 1);
    claimed.slot->act.store(nullptr, release);  // edge inbox_port.slot: publish
  }

  // --- any thread ---

  /// False when something is here whose post happens before this call.
  [[nodiscard]] auto empty() const noexcept -> bool { return posted_.load(relaxed) <= taken_.load(relaxed); }

  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::uint64_t taken = taken_.load(relaxed);
    const std::uint64_t posted = posted_.load(relaxed);
    return posted <= taken ? 0 : posted - taken;
  }
  atomic<std::uint32_t> posting{0};  // 1 while the producer is at it; what a close waits for

 private:
  static auto is_ready(inbox_slot::act_fn act) noexcept -> bool {
    return act != nullptr && act != &inbox_slot::claimed;
  }

  /// A list of chunks. Its last one may have room.
  struct chunks {
    auto with_room() -> chunk& {
      if (first == nullptr) return *(first = last = new chunk);
      if (last->filled == chunk::size) last = last->next = new chunk;
      return *last;
    }
    chunk* first = nullptr;
    chunk* last = nullptr;  // means something only while first is not null
  };

  /// The oldest of what came out of the list, which is older than all that is in the ring. A consumer may look at
  /// filled_ without the lock, because only consumers change it.
  auto claim_fetched() noexcept -> claim_result {
    chunks& fetched = lists_[1 - filled_];
    chunk* const oldest = fetched.first;
    if (oldest == nullptr) return {};
    inbox_slot& slot = oldest->slots[oldest->claimed++];
    const claim_result taken{.slot = &slot, .act = slot.act.load(relaxed), .spilled = oldest};
    count_take();
    if (oldest->claimed == oldest->filled) {
      fetched.first = oldest->next;
      if (oldest->filled < chunk::size) chunk::release(oldest, chunk::size - oldest->filled);
    }
    return taken;
  }

  auto claim_from_ring() noexcept -> claim_result {
    inbox_slot& slot = slots_[head_ % Capacity];
    const inbox_slot::act_fn act = slot.act.load(acquire);  // edge inbox_port.callable: observe
    if (!is_ready(act)) return {};
    slot.act.store(&inbox_slot::claimed, relaxed);
    ++head_;
    count_take();
    return {.slot = &slot, .act = act};
  }

  void count_post() noexcept { posted_.store(posted_.load(relaxed) + 1, relaxed); }
  void count_take() noexcept { taken_.store(taken_.load(relaxed) + 1, relaxed); }

  std::uint64_t tail_ = 0;                              // number of the next slot to fill; the producer's
  atomic<std::uint64_t> posted_{0};                     // how many callables came; written by the producer
  alignas(cache_line) atomic<std::uint64_t> taken_{0};  // how many were claimed; written by consumers
  std::uint64_t head_ = 0;                              // number of the next slot to claim; the consumers'
  alignas(cache_line) Lock lock_;                       // of the list
  std::array<chunks, 2> lists_;
  std::size_t filled_ = 0;          // the list that the producer fills under the lock; the other is the consumers'
  atomic<std::size_t> spilled_{0};  // how many are in that list; written under the lock
  alignas(cache_line) std::array<inbox_slot, Capacity> slots_;
};

}  // namespace braid::detail
