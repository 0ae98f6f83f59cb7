// braid/coro/detail/join_balance.hpp: determines which strand of a fork ends last; that strand continues the parent.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstdint>

namespace braid::detail {

/// The join counter for continuation stealing. It counts strands, as in Cilk. At first, a fork has only one strand, its
/// continuation. If a thief takes the continuation from the eager child, the child becomes a strand of its own. Each
/// strand ends once, and exactly one of them learns that it was the last. The last strand observes everything that the
/// others wrote before they ended. A fork whose continuation was never stolen needs no atomic operation. Threads: only
/// the thread that owns the continuation may call `took`, `is_one` and `continuation_ended`; any thread may call
/// `child_ended`. Lifetime: must exist until the last strand has learned that it is the last. Protocol:
/// docs/design/fork_task.md
class join_balance {
 public:
  /// Counts one more strand, because the continuation was stolen from a child.
  void took() noexcept { ++taken_; }

  /// Returns whether the continuation is the only strand, because it was never stolen.
  [[nodiscard]] auto is_one() const noexcept -> bool { return taken_ == 0; }

  /// Records the end of a child from which the continuation was stolen. Returns whether the child was the last strand.
  [[nodiscard]] auto child_ended() noexcept -> bool {
    return missing_.fetch_sub(1, acq_rel) == 1;  // edge join_balance.end: both, the last strand must see all results
  }

  /// Records the end of the continuation. Returns whether the continuation was the last strand.
  [[nodiscard]] auto continuation_ended() noexcept -> bool {
    const std::int32_t taken = taken_;
    return missing_.fetch_add(taken, acq_rel) == -taken;  // edge join_balance.end: both, for the same reason
  }

 private:
  std::int32_t taken_ = 0;  // written by the thread that has the continuation; passed on through deques and joins
  // Each child that ends subtracts 1. When the continuation ends, it adds `taken_`. From then on, the value is the
  // number of strands that still run.
  atomic<std::int32_t> missing_{0};
};

}  // namespace braid::detail
