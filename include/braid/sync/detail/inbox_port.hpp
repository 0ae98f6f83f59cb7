// braid/sync/detail/inbox_port.hpp: the way of one producer into an inbox: a ring, and a list for what does not fit.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/inbox_slot.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
  struct node {
    node* next = nullptr;
    inbox_slot slot;
  };

  /// A callable that only this consumer knows any more. In a slot of the ring until it is done with, or in a node.
  struct claim_result {
    inbox_slot* slot = nullptr;
    inbox_slot::act_fn act = nullptr;
    std::unique_ptr<node> spilled;
  };

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
    auto spilled = std::make_unique<node>();
    spilled->slot.act.store(fill(spilled->slot), relaxed);
    const std::lock_guard lock(lock_);
    lists_[filled_].push(*spilled.release());
    spilled_.store(spilled_.load(relaxed) + 1, relaxed);
    count_post();
  }

  // --- a consumer ---

  /// The oldest callable. Without a slot when nothing is here.
  [[nodiscard]] auto claim() noexcept -> claim_result {
    if (!fetched().empty()) return claim_fetched();
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
  static void done(claim_result& claimed) noexcept {
    if (claimed.spilled == nullptr) claimed.slot->act.store(nullptr, release);  // edge inbox_port.slot: publish
  }

  // --- any thread ---

  /// False when something is here whose post happens before this call.
  [[nodiscard]] auto empty() const noexcept -> bool { return posted_.load(relaxed) <= taken_.load(relaxed); }

  atomic<std::uint32_t> posting{0};  // 1 while the producer is at it; what a close waits for

 private:
  static auto is_ready(inbox_slot::act_fn act) noexcept -> bool {
    return act != nullptr && act != &inbox_slot::claimed;
  }

  /// What came out of the list: older than all that is in the ring. A consumer may look at filled_ without the lock,
  /// because only consumers change it.
  auto fetched() noexcept -> intrusive_queue<node>& { return lists_[1 - filled_]; }

  auto claim_fetched() noexcept -> claim_result {
    claim_result oldest;
    oldest.spilled.reset(fetched().pop());
    count_take();
    oldest.slot = &oldest.spilled->slot;
    oldest.act = oldest.slot->act.load(relaxed);
    return oldest;
  }

  auto claim_from_ring() noexcept -> claim_result {
    inbox_slot& slot = slots_[head_ % Capacity];
    const inbox_slot::act_fn act = slot.act.load(acquire);  // edge inbox_port.callable: observe
    if (!is_ready(act)) return {};
    slot.act.store(&inbox_slot::claimed, relaxed);
    ++head_;
    count_take();
    return {.slot = &slot, .act = act, .spilled = nullptr};
  }

  void count_post() noexcept { posted_.store(posted_.load(relaxed) + 1, relaxed); }
  void count_take() noexcept { taken_.store(taken_.load(relaxed) + 1, relaxed); }

  std::uint64_t tail_ = 0;                              // number of the next slot to fill; the producer's
  atomic<std::uint64_t> posted_{0};                     // how many callables came; written by the producer
  alignas(cache_line) atomic<std::uint64_t> taken_{0};  // how many were claimed; written by consumers
  std::uint64_t head_ = 0;                              // number of the next slot to claim; the consumers'
  alignas(cache_line) Lock lock_;                       // of the list
  std::array<intrusive_queue<node>, 2> lists_;
  std::size_t filled_ = 0;          // the list that the producer fills under the lock; the other is the consumers'
  atomic<std::size_t> spilled_{0};  // how many are in that list; written under the lock
  alignas(cache_line) std::array<inbox_slot, Capacity> slots_;
};

}  // namespace braid::detail
