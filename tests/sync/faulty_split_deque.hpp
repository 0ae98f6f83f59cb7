// tests/sync/faulty_split_deque.hpp: a twin of the split deque with one fault, so that the explorer is seen to find it.
#pragma once

#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <vector>

namespace braid::testing {

enum class fault : std::uint8_t {
  none,
  no_tag,
  shares_relaxed,
  retracts_by_a_store,
  pops_what_is_shared,
  reads_the_slot_late,
  steals_by_a_store,
  pushes_over_a_full_ring,
  ignores_the_question,
  shares_less_than_one,
  takes_without_a_barrier,
  takes_without_a_question,
  looks_at_the_limit_first,
  lowers_the_limit_late,
  lowers_the_limit_over_a_question,
  pops_without_a_tag,
  takes_what_is_pinned,
};

/// A split deque with a fault. As plain as can be: no packed words beyond the one, no positions that wrap.
template <fault Fault>
struct faulty {
  template <typename T>
  class deque {
   public:
    deque(std::uint32_t capacity, braid::detail::asymmetric_barrier& barrier) : ring_(capacity), barrier_(barrier) {}

    auto try_push(T& entry) -> bool {
      if (!try_push_privately(entry)) return false;
      if (is_asked() && Fault != fault::ignores_the_question) share();
      return true;
    }

    auto try_push_privately(T& entry) -> bool {
      const std::uint32_t head = head_.load(relaxed);
      const bool full = head - tail_of(word_.load(acquire)) == ring_.size();
      if (full && Fault != fault::pushes_over_a_full_ring) return false;
      slot(head).store(&entry, relaxed);
      head_.store(head + 1, release);
      barrier_.light();
      return true;
    }

    auto pop() -> T* {
      const std::uint32_t old = head_.load(relaxed);
      const std::uint32_t early = limit_.load(relaxed);
      if (old == 0) return nullptr;
      head_.store(old - 1, release);
      barrier_.light();
      const std::uint32_t limit = Fault == fault::looks_at_the_limit_first ? early : limit_.load(relaxed);
      if (old - 1 < limit && !pop_carefully(old)) return nullptr;
      return slot(old - 1).load(relaxed);
    }

    void share() {
      word seen = word_.load(relaxed);
      while (true) {
        const std::uint32_t left = head_.load(relaxed) - split_of(seen);
        const std::uint32_t moved = (left + (Fault == fault::shares_less_than_one ? 0 : 1)) / 2;
        if (moved == 0 && Fault != fault::shares_less_than_one) return ask();
        const std::uint32_t split = split_of(seen) + moved;
        if (Fault != fault::lowers_the_limit_late) limit_.exchange(split, acquire);
        const std::memory_order order = Fault == fault::shares_relaxed ? relaxed : release;
        if (!word_.compare_exchange_weak(seen, made(tail_of(seen), split, tag_of(seen) + 1), order, relaxed)) continue;
        if (Fault == fault::lowers_the_limit_late) limit_.exchange(split, acquire);
        return;
      }
    }

    auto steal() -> T* {
      word seen = word_.load(acquire);
      if (tail_of(seen) >= split_of(seen)) {
        ask();
        return nullptr;
      }
      T* oldest = slot(tail_of(seen)).load(relaxed);
      const word next = made(tail_of(seen) + 1, split_of(seen), tag_of(seen));
      if (Fault == fault::steals_by_a_store)
        word_.store(next, release);
      else if (!word_.compare_exchange_strong(seen, next, acquire_and_release, relaxed))
        return nullptr;
      return Fault == fault::reads_the_slot_late ? slot(tail_of(seen)).load(relaxed) : oldest;
    }

    auto take() -> T* {
      word seen = word_.load(acquire);
      if (!is_asked() && Fault != fault::takes_without_a_question) return nullptr;
      if (Fault != fault::takes_without_a_barrier) barrier_.heavy();
      const std::uint32_t head = head_.load(acquire);
      if (head <= split_of(seen)) return nullptr;
      if (pinned_.load(acquire) && Fault != fault::takes_what_is_pinned) return nullptr;
      T* oldest = slot(tail_of(seen)).load(relaxed);
      const word next = made(tail_of(seen) + 1, split_of(seen) + (head - split_of(seen) + 1) / 2, tag_of(seen) + 1);
      return word_.compare_exchange_strong(seen, next, release, relaxed) ? oldest : nullptr;
    }

    auto try_pin() -> bool {
      pinned_.store(true, relaxed);
      barrier_.light();
      if (!is_asked()) return true;
      unpin();
      return false;
    }
    void unpin() { pinned_.store(false, release); }

    void ask() { limit_.exchange(asked, release); }
    [[nodiscard]] auto is_asked() const -> bool { return limit_.load(relaxed) == asked; }

   private:
    using word = std::uint64_t;
    static constexpr std::uint32_t asked = 0xffff'ffff;
    static constexpr auto acquire_and_release = std::memory_order_acq_rel;

    static auto tail_of(word value) -> std::uint32_t { return value & 0xffffU; }
    static auto split_of(word value) -> std::uint32_t { return (value >> 16U) & 0xffffU; }
    static auto tag_of(word value) -> word { return value >> 32U; }
    static auto made(std::uint32_t tail, std::uint32_t split, word tag) -> word {
      return (Fault == fault::no_tag ? 0 : tag << 32U) | word{split} << 16U | tail;
    }

    auto slot(std::uint32_t position) -> atomic<T*>& { return ring_[position % ring_.size()]; }

    auto pop_carefully(std::uint32_t old) -> bool {
      word seen = word_.load(acquire);
      while (true) {
        const bool is_private = split_of(seen) < old;
        if (is_private && Fault == fault::pops_without_a_tag) return true;
        if (!is_private && tail_of(seen) == split_of(seen)) {
          head_.store(old, release);
          return false;
        }
        const std::uint32_t split = is_private ? split_of(seen) : (tail_of(seen) + split_of(seen)) / 2;
        if (!is_private && Fault == fault::pops_what_is_shared) return limit_.store(old - 1, relaxed), true;
        const word next = made(tail_of(seen), split, tag_of(seen) + 1);
        if (!is_private && Fault == fault::retracts_by_a_store)
          word_.store(next, release);
        else if (!word_.compare_exchange_weak(seen, next, acquire_and_release, acquire))
          continue;
        std::uint32_t before = split_of(seen);
        if (!is_private && Fault == fault::lowers_the_limit_over_a_question)
          limit_.store(split, relaxed);
        else if (!is_private)
          limit_.compare_exchange_strong(before, split, relaxed, relaxed);
        return true;
      }
    }

    std::vector<atomic<T*>> ring_;
    braid::detail::asymmetric_barrier& barrier_;
    atomic<std::uint32_t> head_{0};
    atomic<std::uint32_t> limit_{0};
    atomic<bool> pinned_{false};
    atomic<word> word_{0};
  };
};

}  // namespace braid::testing
