// braid/task/detail/end_signal.hpp: a one-shot event for a single waiting thread, by futex.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <cstdint>
#include <optional>

namespace braid::detail {

/// A one-shot event. Everything that was written before `set` is visible to a thread that finds the event set. Threads:
/// one thread calls `set`, once; one other thread waits. Lifetime: the waiting thread may destroy the event as soon as
/// it finds the event set. After that, a `set` that is still running may wake the address of the destroyed event, which
/// is harmless. Protocol: docs/design/fork_join.md
class end_signal {
 public:
  [[nodiscard]] auto is_set() const noexcept -> bool {
    return state_.load(acquire) == set_;  // edge end_signal.end: observe the result of what has ended
  }

  void set() noexcept {
    // edge end_signal.end: publish the result of the work that has ended
    const std::uint32_t before = state_.exchange(set_, release);
    if (before == awaited_) futex_wake(state_, 1);
  }

  /// Blocks until the event is set, or until `deadline`. Returns whether the event is set.
  auto wait(std::optional<time_point> deadline = std::nullopt) noexcept -> bool {
    std::uint32_t seen = open_;
    state_.compare_exchange_strong(seen, awaited_, relaxed, relaxed);
    while (!is_set())
      if (futex_wait(state_, awaited_, deadline) == futex_wait_status::timed_out) return is_set();
    return true;
  }

 private:
  static constexpr std::uint32_t open_ = 0;
  static constexpr std::uint32_t awaited_ = 1;  // a thread sleeps, is about to, or gave up at its deadline
  static constexpr std::uint32_t set_ = 2;

  atomic<std::uint32_t> state_{open_};  // awaited: written by the waiting thread; set: by the thread that calls `set`
};

}  // namespace braid::detail
