// braid/task/detail/strand_mailbox.hpp: where a strand's jobs arrive, and who has to see that they run.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// What became of a job that was sent to a strand.
enum class strand_push : std::uint8_t {
  queued,  ///< whoever has the turn comes to it
  first,   ///< nobody had the turn; now the caller has it
  closed,  ///< refused: the job still belongs to the caller
};

/// Elements with a member `T* next`, pushed by any thread and taken by who has the turn, which one thread has at a time
/// or none. Whoever gets the turn sees everything that those did who had it before.
/// Threads: `try_push` and `is_resting` from any; the rest from who has the turn.
/// Protocol: docs/design/strand.md
template <typename T>
class strand_mailbox {
 public:
  /// Nobody has the turn.
  strand_mailbox() noexcept : head_(resting()) {}
  /// Empty too, but whoever makes it has the turn.
  struct turn_taken {};
  explicit strand_mailbox(turn_taken /*by the caller*/) noexcept : head_(nullptr) {}

  [[nodiscard]] auto try_push(T& element) noexcept -> strand_push {
    T* seen = head_.load(relaxed);
    do {
      if (seen == closed() || seen == closed_for_good()) return strand_push::closed;
      element.next = seen == resting() ? nullptr : seen;
      // edge strand.job: publish; edge strand.turn: observe
    } while (!head_.compare_exchange_weak(seen, &element, acq_rel, relaxed));
    return seen == resting() ? strand_push::first : strand_push::queued;
  }

  /// Everything that was pushed, the oldest first, linked by `next`. Null when there is nothing.
  [[nodiscard]] auto take() noexcept -> T* {
    T* const seen = head_.load(relaxed);
    if (seen == nullptr || seen == closed()) return nullptr;
    return in_order(head_.exchange(nullptr, acquire));  // edge strand.job: observe
  }

  /// Gives the turn away. False when something was pushed meanwhile: then the caller still has it.
  [[nodiscard]] auto try_rest() noexcept -> bool {
    T* seen = head_.load(relaxed);
    if (seen != nullptr && seen != closed()) return false;
    // edge strand.turn: publish
    return head_.compare_exchange_strong(seen, seen == nullptr ? resting() : closed_for_good(), release, relaxed);
  }

  /// Refuses pushes from now on, and gives what was pushed before, as `take` does. The caller still has the turn.
  [[nodiscard]] auto close() noexcept -> T* {
    return in_order(head_.exchange(closed(), acquire));  // edge strand.job: observe
  }

  /// Whether nobody has the turn. What those did who had it is visible then.
  [[nodiscard]] auto is_resting() const noexcept -> bool {
    const T* const seen = head_.load(acquire);  // edge strand.turn: observe
    return seen == resting() || seen == closed_for_good();
  }

 private:
  static auto resting() noexcept -> T* { return reinterpret_cast<T*>(std::uintptr_t{1}); }
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

  // resting(): empty, nobody has the turn · null: empty, somebody has it · closed(): the same, and pushes are refused
  // closed_for_good(): refused, and nobody has the turn · anything else: the newest element; somebody has the turn
  atomic<T*> head_;
};

}  // namespace braid::detail
