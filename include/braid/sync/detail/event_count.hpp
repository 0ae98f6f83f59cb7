// braid/sync/detail/event_count.hpp: lets threads sleep until a condition holds, without a lock around the condition.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <climits>
#include <cstdint>

namespace braid::detail {

/// A synchronization object that lets threads sleep until a condition of the caller's choice holds:
///
///   waiter: key = prepare(); if the condition holds: cancel(), else: wait(key); check again
///   other:  make the condition true; notify_one() or notify_all()
///
/// If the condition becomes true after the waiter has checked it, the waiter is woken. If the waiter checks later, it
/// finds the condition true.
/// Threads: any. Cost: a notify without waiters is one locked add.
/// Source: Vyukov, "Eventcount", 2008; the proof for this form is in docs/design/event_count.md.
class event_count {
 public:
  class key {
    friend class event_count;
    explicit key(std::uint32_t epoch) noexcept : epoch_(epoch) {}
    std::uint32_t epoch_;
  };

  /// Announces that the caller is about to wait. The caller must then check the condition and call `cancel` or `wait`.
  [[nodiscard]] auto prepare() noexcept -> key {
    waiters_.fetch_add(1, seq_cst);    // edge event_count.waiter: publish the waiter before its check of the condition
    return key(epoch_.load(seq_cst));  // edge event_count.epoch: observe the writes before earlier notifies
  }

  /// Withdraws the announcement of `prepare`. A waiter calls this if the condition already holds.
  void cancel() noexcept { waiters_.fetch_sub(1, relaxed); }

  /// Blocks until another thread has called a notify function after `prepare`.
  void wait(key announced) noexcept {
    // edge event_count.epoch: observe what the notifying thread wrote to make the condition true
    while (epoch_.load(acquire) == announced.epoch_) futex_wait(epoch_, announced.epoch_);
    waiters_.fetch_sub(1, relaxed);
  }

  /// Waits as `wait` does, but returns false at `deadline`. Returns true if the waiter was notified.
  [[nodiscard]] auto wait_until(key announced, time_point deadline) noexcept -> bool {
    // edge event_count.epoch: observe what the notifying thread wrote to make the condition true
    while (epoch_.load(acquire) == announced.epoch_) {
      if (futex_wait(epoch_, announced.epoch_, deadline) == futex_wait_status::timed_out) break;
    }
    waiters_.fetch_sub(1, relaxed);
    // edge event_count.epoch: observe what the notifying thread wrote to make the condition true
    return epoch_.load(acquire) != announced.epoch_;
  }

  /// Wakes one waiter, if there is one.
  void notify_one() noexcept { notify(1); }

  /// Wakes all waiters.
  void notify_all() noexcept { notify(INT_MAX); }

 private:
  void notify(int count) noexcept {
    epoch_.fetch_add(1, seq_cst);  // edge event_count.epoch: publish the condition
    // edge event_count.waiter: observe a waiter that may have read the condition before it became true
    if (waiters_.load(seq_cst) != 0) futex_wake(epoch_, count);
  }

  atomic<std::uint32_t> epoch_{0};    // counts notifies; written by notifying threads
  atomic<std::uint32_t> waiters_{0};  // threads between prepare and the end of wait or cancel
};

}  // namespace braid::detail
