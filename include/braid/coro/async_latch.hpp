// braid/coro/async_latch.hpp: a count that tasks of any home wait for until it is down to nothing.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/coro/detail/waiter.hpp>

#include <cstddef>
#include <mutex>

namespace braid {

/// Single-use latch for tasks: they wait until it has been counted down as often as it was made for; from then on no
/// task waits. Threads: any. Lifetime: outlives the waiting tasks, and may be destroyed by a task that has waited.
class async_latch {
  class awaiter;

 public:
  explicit async_latch(std::size_t count) noexcept : left_(count) {}
  async_latch(const async_latch&) = delete;
  auto operator=(const async_latch&) -> async_latch& = delete;

  /// Requires that so much is left.
  void count_down(std::size_t by = 1) noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    BRAID_EXPECTS(by <= left_, "a latch is not counted down more often than it was made for");
    left_ -= by;
    if (left_ == 0) waiting_.pop_all(woken);
  }

  /// Whether no task waits any more.
  [[nodiscard]] auto try_wait() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return left_ == 0;
  }

  /// Waits until the count is down.
  [[nodiscard]] auto wait() noexcept -> awaiter;

  /// Counts down by one, at once, and gives what waits.
  [[nodiscard]] auto arrive_and_wait() noexcept -> awaiter;

 private:
  mutable std::mutex lock_;  // around all that follows
  std::size_t left_;
  detail::wait_queue waiting_;
};

class async_latch::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "latch";

  explicit awaiter(async_latch& of) noexcept : queue_awaiter(of.lock_), of_(&of) {}
  void await_resume() const noexcept {}

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return of_->left_ == 0; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return of_->waiting_; }

 private:
  async_latch* of_;
};

inline auto async_latch::wait() noexcept -> awaiter { return awaiter(*this); }
inline auto async_latch::arrive_and_wait() noexcept -> awaiter {
  count_down();
  return awaiter(*this);
}

}  // namespace braid
