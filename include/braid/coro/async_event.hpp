// braid/coro/async_event.hpp: something that tasks of any home wait for, and that can be taken back.
#pragma once

#include <braid/coro/detail/waiter.hpp>

#include <mutex>

namespace braid {

/// Manual-reset event for tasks of any home: they wait until `set` is called; from then on no task waits, until
/// `reset` is called. Tasks that `set` has released go on, also where a reset follows at once.
/// Threads: any. Lifetime: outlives the waiting tasks. Cost: a lock; for each waiting task a post to its home. For the
/// tasks of one home, `event` needs neither.
class async_event {
  class awaiter;

 public:
  async_event() = default;
  async_event(const async_event&) = delete;
  auto operator=(const async_event&) -> async_event& = delete;

  [[nodiscard]] auto is_set() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return set_;
  }

  void set() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    set_ = true;
    waiting_.pop_all(woken);
  }

  void reset() noexcept {
    const std::lock_guard guard(lock_);
    set_ = false;
  }

  /// Waits until the event is set.
  [[nodiscard]] auto operator co_await() noexcept -> awaiter;

 private:
  mutable std::mutex lock_;  // around all that follows
  bool set_ = false;
  detail::wait_queue waiting_;
};

class async_event::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "event";

  explicit awaiter(async_event& of) noexcept : queue_awaiter(of.lock_), of_(&of) {}
  void await_resume() const noexcept {}

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return of_->set_; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return of_->waiting_; }

 private:
  async_event* of_;
};

inline auto async_event::operator co_await() noexcept -> awaiter { return awaiter(*this); }

}  // namespace braid
